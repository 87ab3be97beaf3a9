// Makes the tables of class "sortable" sortable by their heads: ascending, descending, and as they came. Empty cells stay last.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const value = (row, column) => {
    const cell = row.cells[column], number = cell.dataset.value;
    return number === undefined ? cell.textContent.trim().toLowerCase() : number === "" ? null : Number(number);
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")];
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", next);
      const sign = next === "descending" ? -1 : 1;
      const order = next === "none" ? rows : [...rows].sort((a, b) => {
        const [x, y] = [value(a, column), value(b, column)];
        if (x === null || y === null) return (x === null) - (y === null);
        return sign * (typeof x === "number" ? x - y : x.localeCompare(y));
      });
      body.append(...order);
    });
  });
}
