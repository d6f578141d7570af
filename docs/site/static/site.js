// Cells know the heading of their column, which a narrow window shows above each.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll(".bd-article table")) {
    const headings = [...table.querySelectorAll("thead th")].map((cell) => cell.textContent.trim());
    for (const row of table.querySelectorAll("tbody tr")) {
      [...row.children].forEach((cell, place) => {
        if (headings[place]) cell.dataset.heading = headings[place];
      });
    }
  }
});
