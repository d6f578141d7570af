"""Loads the plug-ins of installed packages, each whole or not at all, and lists what was loaded, left out and switched off."""

from __future__ import annotations

import importlib.util
import keyword
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Set
from functools import lru_cache
from importlib.metadata import EntryPoint
from itertools import takewhile
from types import ModuleType

import attrs

from sframe_spark.config import config
from sframe_spark.errors import PlanInvariantError, PluginWarning, SFrameError, listed, users_level
from sframe_spark.message_text import visible
from sframe_spark.planner.law import Law
from sframe_spark.planner.law_registry import KIND as LAW, register_law, registered_laws, require_known_operators
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.plugin_discovery import PLUGIN_GROUP, PluginPackage, normalised, plugin_packages
from sframe_spark.planner.registrations import Registration, is_loading_plugin, registering, registrations, take_back
from sframe_spark.redaction import redacted

ALL = "*"
LOADED, LEFT_OUT, SWITCHED_OFF = "loaded", "left out", "switched off"


@attrs.frozen
class Plugin:
    """The outcome of loading the plug-ins of an installed package; ``str()`` returns it in one line.

    Parameters
    ----------
    distribution, version
        Name and version of the package.
    place
        The directory of its code if it was imported, otherwise the one in which the package is installed.
    status
        ``loaded``, ``left out`` (see ``fault``) or ``switched off`` (by ``config.disabled_plugins``).
    registered
        The names that it has registered, by kind: ``scalar functions``, ``aggregates``, ``operators``, ``laws`` and so on.
    namespaces
        Where its functions are, in :mod:`sframe_spark.functions`.
    fault
        Why it was left out; otherwise empty.
    traceback
        The traceback of the error for which it was left out; empty if there is none.
    """

    distribution: str
    version: str
    place: str
    status: str
    registered: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)
    namespaces: tuple[str, ...] = ()
    fault: str = ""
    traceback: str = attrs.field(default="", repr=False)

    def __str__(self) -> str:
        kinds = "; ".join(f"{kind} {', '.join(names)}" for kind, names in self.registered.items()) or "nothing is registered"
        about = {LOADED: kinds, LEFT_OUT: f"left out: {self.fault}"}.get(self.status, "switched off by config.disabled_plugins")
        return f"{self.distribution} {self.version} ({self.place}): {about}"


@attrs.frozen
class PluginOutcome:
    """The outcome of loading a package: the fault is empty on success.

    ``lost`` is what it had registered before it failed; ``advice`` is what its author should know of a package that was loaded.
    """

    package: PluginPackage
    fault: str = ""
    traceback: str = ""
    lost: tuple[Registration, ...] = ()
    advice: str = ""


class PluginLoader:
    """Loads each package that announces plug-ins once in a process, unless it is switched off."""

    def __init__(self) -> None:
        self._outcomes: dict[str, PluginOutcome] = {}
        # What was switched off when all others had been loaded; None before that.
        self._complete_without: frozenset[str] | None = None
        self._unwarned: list[PluginOutcome] = []
        self._lock, self._process = threading.RLock(), os.getpid()

    def _lock_of_process(self) -> threading.RLock:
        """Return the lock; after a fork it is another one, since a thread of the parent process, which does not exist here, may hold the first."""
        if self._process != os.getpid():
            self._lock, self._process = threading.RLock(), os.getpid()
        return self._lock

    def load(self) -> None:
        """Load the packages that are neither loaded nor switched off. Each that fails is left out with a warning.

        While a plug-in is loaded, what it computes is planned with what has been registered until then.
        """
        disabled = config.disabled_plugins
        if self._complete_without == disabled or is_loading_plugin():
            return
        with self._lock_of_process():
            for package in plugin_packages():
                if package.key in self._outcomes or is_disabled(package, disabled):
                    continue
                outcome = self._outcomes[package.key] = _loaded(package, self._namespaces())
                if outcome.fault or outcome.advice:
                    self._unwarned.append(outcome)
            self._complete_without = disabled
        while self._unwarned:
            outcome = self._unwarned.pop(0)
            warnings.warn(PluginWarning(_warning(outcome)), stacklevel=users_level())

    def forget(self) -> None:
        """Search for packages and load them again when plug-ins are next needed; registrations stay."""
        self._outcomes, self._complete_without = {}, None
        plugin_packages.cache_clear()

    def plugins(self) -> list[Plugin]:
        """Load plug-ins, and return what became of each package that announces some."""
        self.load()
        disabled = config.disabled_plugins
        return [self._plugin(package, disabled) for package in plugin_packages()]

    def are_all_loaded(self) -> bool:
        """Return whether no package was left out or is switched off."""
        return not config.disabled_plugins and not self.left_out()

    def loaded(self) -> list[PluginPackage]:
        """Return the packages that are loaded and not switched off."""
        disabled = config.disabled_plugins
        return [outcome.package for outcome in self._outcomes.values() if not outcome.fault and not is_disabled(outcome.package, disabled)]

    def left_out(self) -> list[PluginOutcome]:
        """Return the packages that were left out."""
        return [outcome for outcome in self._outcomes.values() if outcome.fault]

    def laws(self) -> tuple[Law, ...]:
        """Return the registered laws but for those of packages that are switched off, of which some may have been loaded before."""
        disabled = config.disabled_plugins
        if not disabled:
            return registered_laws()
        off = [package for package in plugin_packages() if is_disabled(package, disabled)]
        dropped = {made.name for package in off for made in registrations_of(package) if made.kind == LAW}
        return tuple(rule for rule in registered_laws() if rule.equation not in dropped)

    def _namespaces(self) -> dict[str, str]:
        """Return the namespaces of packages that are loaded, each with its package."""
        loaded = [outcome.package for outcome in self._outcomes.values() if not outcome.fault]
        return {namespace: package.distribution for package in loaded for namespace in namespaces_of(package)}

    def _plugin(self, package: PluginPackage, disabled: frozenset[str]) -> Plugin:
        outcome = self._outcomes.get(package.key)
        about = (package.distribution, package.version, _place(package))
        if is_disabled(package, disabled) or outcome is None:
            return Plugin(*about, SWITCHED_OFF)
        if outcome.fault:
            return Plugin(*about, LEFT_OUT, fault=outcome.fault, traceback=outcome.traceback)
        return Plugin(*about, LOADED, _by_kind(package), tuple(namespaces_of(package)))


_LOADER = PluginLoader()
load_plugins: Callable[[], None] = _LOADER.load
active_laws: Callable[[], tuple[Law, ...]] = _LOADER.laws
are_all_loaded: Callable[[], bool] = _LOADER.are_all_loaded


def plugins() -> list[Plugin]:
    """Load the plug-ins of installed packages, and return what became of each."""
    return _LOADER.plugins()


def loaded_packages() -> list[PluginPackage]:
    """Load plug-ins, and return the packages that are loaded and not switched off."""
    load_plugins()
    return _LOADER.loaded()


def plugin_modules() -> dict[str, PluginPackage]:
    """Return the packages and modules of loaded plug-ins, by the dotted names under which they are imported."""
    return {module: package for package in loaded_packages() for module in modules_of(package)}


def is_disabled(package: PluginPackage, disabled: frozenset[str]) -> bool:
    """Return whether the names of plug-ins that are switched off include a package, or stand for all."""
    return bool(disabled) and (ALL in disabled or package.key in map(normalised, disabled))


def hint_of_left_out(kind: str, name: str) -> str:
    """Return the end of the message that a name is unknown: which plug-ins are not loaded, or the one that had the name; empty if all are."""
    outcomes = _LOADER.left_out()
    for outcome in outcomes:
        if any((made.kind, made.name) == (kind, name) for made in outcome.lost) or (kind == "namespace" and name in namespaces_of(outcome.package)):
            return f"; {outcome.package} has it, and was left out: {outcome.fault}"
    off = [package for package in plugin_packages() if is_disabled(package, config.disabled_plugins)]
    lists = {"left out": [outcome.package for outcome in outcomes], "switched off": off}
    parts = [f"; plug-ins that are {how}: {listed(packages, str)}" for how, packages in lists.items() if packages]
    return "".join([*parts, "; see sframe_spark.plugins()"]) if parts else ""


def namespaces_of(package: PluginPackage) -> list[str]:
    """Return the namespaces of a package's functions: the names of its entry points for plug-ins, otherwise one that its own name gives."""
    return [_identifier(entry.name) for entry in package.entries if entry.group == PLUGIN_GROUP] or [package.namespace]


def registrations_of(package: PluginPackage) -> list[Registration]:
    """Return what a package has registered, also what a program that imported it had it register before plug-ins were loaded."""
    modules = modules_of(package)
    return [made for made in registrations() if made.plugin == package.key or (not made.plugin and _is_within(made.module, modules))]


def modules_of(package: PluginPackage) -> set[str]:
    """Return the dotted names of the packages and modules that the entry points of a package lead into."""
    return {_regular_package(entry.module) for entry in package.entries if entry.pattern.match(entry.value)}


def namespace_of(made: Registration, package: PluginPackage) -> str:
    """Return the namespace of something that a package has registered: that of the entry point that was being loaded, or is nearest to its module."""
    entries = [entry for entry in package.entries if entry.group == PLUGIN_GROUP]
    if made.namespace or not entries:
        return made.namespace or package.namespace
    return _identifier(max(entries, key=lambda entry: _shared_parts(entry.module, made.module)).name)


def _loaded(package: PluginPackage, taken: Mapping[str, str]) -> PluginOutcome:
    """Load a package, and return what became of it. If it fails, all that it has registered is taken back."""
    if package.fault:
        return PluginOutcome(package, package.fault)
    transaction = doing = None
    before = set(sys.modules)
    # Of an import that has failed before, such as one of another package that needs this one.
    take_back(made for made in registrations_of(package) if not _is_imported(made.module, package))
    try:
        with registering(package.key, lambda module: _is_of_another(module, package)) as transaction:
            for namespace in namespaces_of(package):
                _require_namespace(namespace, taken)
            for entry in package.entries:
                doing = f"its entry point {entry.name} = {entry.value} of {entry.group} "
                transaction.namespace = _identifier(entry.name) if entry.group == PLUGIN_GROUP else package.namespace
                for rule in _laws_of(entry):
                    register_law(rule)
            doing = None
            require_known_operators(made.value for made in transaction.made if made.kind == LAW)
    except (KeyboardInterrupt, MemoryError):
        # They say nothing of the package, which is tried again.
        _forget_modules(package, before)
        raise
    except BaseException as error:
        # Modules raise SystemExit, and pytest's exceptions, too.
        _forget_modules(package, before)
        lost = () if transaction is None else tuple(transaction.made)
        reason = _reason(error)
        return PluginOutcome(package, f"{doing}fails: {reason}" if doing else reason, "".join(traceback.format_exception(error)), lost)
    return PluginOutcome(package, advice=_advice_on_laws(package))


def _advice_on_laws(package: PluginPackage) -> str:
    """Return which laws of the modules of a package are not registered; empty if there are none."""
    own, registered = modules_of(package), {rule.equation for rule in registered_laws()}
    modules = [module for name, module in list(sys.modules.items()) if _is_within(name, own)]
    laws = {item.equation: item for module in modules for item in list(vars(module).values()) if isinstance(item, Law)}
    idle = [rule for rule in laws.values() if rule.equation not in registered and _is_within(str(rule.rewrite.__module__), own)]
    if not idle:
        return ""
    equations = listed([rule.equation for rule in idle])
    function = getattr(idle[0].rewrite, "__name__", "...")
    return (
        f"the plug-in {package} has laws that never apply, {equations}: its module must call register_law({function}), as @law alone "
        f"registers nothing"
    )


def _is_of_another(module: str, package: PluginPackage) -> bool:
    """Return whether a module is of another package that announces plug-ins than the given one."""
    if _is_within(module, modules_of(package)):
        return False
    return any(_is_within(module, modules_of(other)) for other in plugin_packages() if other.key != package.key)


def _is_imported(module: str, package: PluginPackage) -> bool:
    """Return whether a module, and the package or module of a plug-in that it is in, are imported."""
    return module in sys.modules and any(own in sys.modules for own in modules_of(package) if _is_within(module, {own}))


def _forget_modules(package: PluginPackage, before: Set[str]) -> None:
    """Let modules of a package that failed be imported again, and so register again."""
    own = modules_of(package)
    for module in set(sys.modules) - before:
        if _is_within(module, own):
            del sys.modules[module]


def _laws_of(entry: EntryPoint) -> Iterator[Law]:
    """Import what an entry point refers to: a module, which registers what is in it, or laws, which are yielded.

    Raises
    ------
    PlanInvariantError
        If it refers to something else.
    """
    if not entry.pattern.match(entry.value):
        raise PlanInvariantError(f"{entry.value!r} is not the name of a module, or of something in one (module:name)")
    loaded = entry.load()
    if isinstance(loaded, ModuleType) or (isinstance(loaded, type) and issubclass(loaded, Operator)):
        return
    if not isinstance(loaded, (Law, list, tuple)):
        raise PlanInvariantError(f"{loaded!r:.80} is neither a module nor a law nor a list of laws")
    for item in [loaded] if isinstance(loaded, Law) else loaded:
        if not isinstance(item, Law):
            raise PlanInvariantError(f"{item!r:.80} is not a law")
        yield item


def _require_namespace(namespace: str, taken: Mapping[str, str]) -> None:
    if not namespace.isidentifier() or keyword.iskeyword(namespace) or namespace.startswith("_"):
        raise PlanInvariantError(
            f"the namespace of its functions would be named {namespace!r}, which is not a valid name in Python: rename its entry point"
        )
    if namespace in taken:
        raise PlanInvariantError(f"the namespace {namespace!r} of its functions is taken by {taken[namespace]}")


def _shared_parts(module: str, other: str) -> int:
    pairs = zip(module.split("."), other.split("."), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _identifier(name: str) -> str:
    return name.replace("-", "_").replace(".", "_")


def _reason(error: BaseException) -> str:
    """Return an error in one line."""
    try:
        text = str(error)
    except Exception:
        text = ""
    text = visible(redacted(text.strip().splitlines()[0] if text.strip() else ""))
    kind = type(error).__name__
    return text if isinstance(error, SFrameError) else f"{kind}: {text}" if text else kind


def _warning(outcome: PluginOutcome) -> str:
    if outcome.advice:
        return outcome.advice
    advice = "fix or uninstall it, or switch it off with config.disabled_plugins (SFRAME_SPARK_DISABLED_PLUGINS)"
    return f"the plug-in {outcome.package} is left out: {outcome.fault}; {advice}"


def _by_kind(package: PluginPackage) -> dict[str, tuple[str, ...]]:
    by_kind: dict[str, list[str]] = {}
    for made in registrations_of(package):
        by_kind.setdefault(f"{made.kind}s", []).append(made.name)
    return {kind: tuple(sorted(names)) for kind, names in sorted(by_kind.items())}


def _place(package: PluginPackage) -> str:
    for entry in package.entries:
        file = getattr(sys.modules.get(_regular_package(entry.module)), "__file__", None) if entry.pattern.match(entry.value) else None
        if file:
            return os.path.dirname(file)
    return package.place


@lru_cache(maxsize=256)
def _regular_package(module: str) -> str:
    """Return the outermost package of a module that has a file, which is not shared with other distributions as namespace packages are."""
    parts = module.split(".")
    return next((name for name in (".".join(parts[: count + 1]) for count in range(len(parts))) if _has_file(name)), module)


def _has_file(module: str) -> bool:
    if module in sys.modules:
        return bool(getattr(sys.modules[module], "__file__", None))
    try:
        spec = importlib.util.find_spec(module)
    except Exception:
        # What is outside of it may not be importable.
        return False
    return spec is not None and spec.has_location


def _is_within(module: str, packages: set[str]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)
