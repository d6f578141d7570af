"""A headless Chromium that tests and makers of pages lead by hand: what it says of a page, and pictures of it.

It is spoken to through two pipes (Chrome's DevTools protocol), so that no port is opened and no driver needed.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

PROGRAM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
# No address has a host that is found but this machine's own, and nothing of the browser asks for any itself.
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
]
NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
PATIENCE = 60.0


@attrs.define
class Seen:
    """What a page did while it was loaded.

    Parameters
    ----------
    errors
        Exceptions, errors of the console, and what the page's policy refused.
    requests
        Addresses that were asked for, the page's own first.
    """

    errors: list[str] = attrs.Factory(list)
    requests: list[str] = attrs.Factory(list)


class Browser:
    """One window.

    Parameters
    ----------
    process
        Chromium.
    reading, writing
        The pipes to it.
    """

    def __init__(self, process: subprocess.Popen[bytes], reading: int, writing: int) -> None:
        self.process, self.reading, self.writing = process, reading, writing
        self.number, self.rest, self.session = 0, b"", ""
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command, and return its answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters, **({"sessionId": self.session} if self.session else {})}
        # What a pipe takes at once is less than a page may be.
        content = json.dumps(message).encode() + b"\0"
        while content:
            content = content[os.write(self.writing, content) :]
        while True:
            answer = self.next_message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def next_message(self) -> dict[str, Any]:
        """What Chromium says next."""
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            if not select.select([self.reading], [], [], max(end - time.monotonic(), 0))[0]:
                raise TimeoutError(f"Chromium says nothing for {PATIENCE:.0f} seconds")
            found = os.read(self.reading, 1 << 20)
            if not found:
                raise RuntimeError("Chromium has ended")
            self.rest += found
        content, _, self.rest = self.rest.partition(b"\0")
        message: dict[str, Any] = json.loads(content)
        return message

    def wait_for(self, method: str) -> None:
        """Wait until an event of this name has come."""
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.next_message())

    def look(self, width: int = 1000, height: int = 700, dark: bool = False, scale: float = 1.0) -> None:
        """Say how large the window is, and whether pages are to be dark."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, address: str) -> Seen:
        """Load a page, and tell what it did until all that it promised was done."""
        self.events = []
        failed = self.ask("Page.navigate", url=address).get("errorText")
        if failed:
            raise RuntimeError(f"{address}: {failed}")
        self.wait_for("Page.loadEventFired")
        # Frames are drawn and promises kept when a turn of the page's own clock has passed.
        self.value("new Promise(done => setTimeout(() => requestAnimationFrame(() => setTimeout(done, 50)), 150))")
        seen = Seen()
        for event in self.events:
            told = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                seen.errors.append(told["exceptionDetails"].get("exception", {}).get("description", told["exceptionDetails"]["text"]))
            elif event["method"] == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
                seen.errors.append(" ".join(str(part.get("value", part.get("description"))) for part in told["args"]))
            elif event["method"] == "Log.entryAdded":
                seen.errors.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")
            elif event["method"] == "Network.requestWillBeSent":
                seen.requests.append(told["request"]["url"])
        return seen

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript is on the page."""
        found = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", {}).get("description", found["exceptionDetails"]["text"]))
        return found["result"].get("value")

    def picture(self, path: Path, part: str = "", margin: int = 16) -> None:
        """Write as PNG what the window shows, or the part of the page that a selector names, with a margin around it."""
        self.ask("Page.bringToFront")
        clip: dict[str, Any] = {}
        if part:
            box = self.value(f"(one => [one.x, one.y, one.width, one.height])(document.querySelector({part!r}).getBoundingClientRect())")
            x, y = max(box[0] - margin, 0), max(box[1] - margin, 0)
            width, height = box[0] + box[2] + margin - x, box[1] + box[3] + margin - y
            clip = {"clip": {"x": x, "y": y, "width": width, "height": height, "scale": 1}, "captureBeyondViewport": True}
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png", **clip)["data"]))


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A Chromium that ends with the block."""
    if PROGRAM is None:
        raise FileNotFoundError("there is no Chromium here")
    to_child, from_us = os.pipe()
    to_us, from_child = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # The program reads from its descriptor 3 and writes to 4: the shell gives it these two.
        command = f'exec "$@" 3<&{to_child} 4>&{from_child}'
        arguments = ["bash", "-c", command, "bash", PROGRAM, *OPTIONS, NO_NETWORK, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(arguments, pass_fds=(to_child, from_child), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        try:
            yield Browser(process, to_us, from_us)
        finally:
            os.close(from_us)
            os.close(to_us)
            process.terminate()
            process.wait(30)
