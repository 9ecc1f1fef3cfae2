// What the page of the explorer does in the browser: marks wrong fields, copies texts, saves
// pictures and follows the colour scheme. It computes nothing.
"use strict";

(() => {
  const none = () => window.dash_clientside.no_update;
  const set = (id, value) => window.dash_clientside.set_props(id, value);
  const scheme = window.matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", () => set("dark", { data: scheme.matches }));

  const add = (parent, tag, text) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    return parent.appendChild(made);
  };
  const cell = (row, tag, text, numeric) => {
    const made = add(row, tag, text);
    if (numeric) made.className = "n";
    return made;
  };

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.page = {
    dark: () => scheme.matches,

    // The slider and the field of the load show the same number.
    load: (slider, text) => {
      const triggered = window.dash_clientside.callback_context.triggered_id;
      if (triggered === "load-slider") return [none(), String(slider)];
      const value = String(text).endsWith("%") ? parseFloat(text) / 100 : parseFloat(text);
      return [Number.isFinite(value) ? value : none(), none()];
    },

    // The clock and the controls of the first film are those of both.
    film: (first, other) => {
      window.moldableFilm.load(first, "film", { controls: "film-controls" });
      window.moldableFilm.load(other, "film-other", { with: "film" });
      return none();
    },

    table: (data) => {
      if (!data) return;
      const table = document.createElement("table");
      add(table, "caption", data.caption);
      const head = add(add(table, "thead"), "tr");
      data.heads.forEach((text, k) => cell(head, "th", text, data.numeric[k]).scope = "col");
      const body = add(table, "tbody");
      for (const texts of data.rows) {
        const row = add(body, "tr");
        texts.forEach((text, k) => cell(row, k ? "td" : "th", text, data.numeric[k]));
        if (row.firstChild) row.firstChild.scope = "row";
      }
      document.getElementById(data.place).replaceChildren(table);
    },

    // Tell assistive technology which fields are wrong; Dash's inputs have no such property.
    mark: (...messages) => {
      const names = window.dash_clientside.callback_context.inputs_list.map((each) => each.id);
      names.forEach((id, k) => {
        const name = id.replace(/-problem$/, "");
        const field = document.getElementById(name === "target" ? "target-choice" : name);
        if (!field) return;
        field.setAttribute("aria-invalid", String(Boolean(messages[k])));
        field.setAttribute("aria-describedby", `${name}-hint ${id}`);
      });
      return none();
    },
  };

  // Lists of choices set the value of a field.
  document.addEventListener("change", (event) => {
    const from = event.target;
    if (from.dataset.field) set(from.dataset.field, { value: from.value });
    if (from.dataset.curve && from.value) set(from.dataset.curve, { value: `curve:${from.value}` });
    const points = from.closest("[data-points]");
    if (points) set(points.dataset.points, { value: written(points) });
  });

  // The speed-ups in a table as text; widths without one are left out.
  const written = (points) => {
    const given = [...points.querySelectorAll("input")]
      .map((input) => [Number(input.id.split("-").pop()), input.value.trim()])
      .filter(([, speed]) => speed !== "");
    const plain = given.every(([width], k) => width === k + 1);
    return given.map(([width, speed]) => (plain ? speed : `${width}=${speed}`)).join(",");
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button && button.dataset.copy) copy(button.dataset.copy);
    if (button && button.dataset.picture) save(button.dataset.picture, button.dataset.kind);
  });

  const copy = async (id) => {
    const text = document.getElementById(id);
    const told = document.getElementById(`${id}-copied`);
    try {
      await navigator.clipboard.writeText(text.textContent);
      told.textContent = "copied";
    } catch {
      // Without permission, the text is selected for the keys of the browser.
      window.getSelection().selectAllChildren(text);
      told.textContent = "selected; press Ctrl-C";
    }
    setTimeout(() => { told.textContent = ""; }, 3000);
  };

  let saved = Promise.resolve();
  const save = (id, kind) => {
    const figure = document.querySelector(`#${id} .js-plotly-plot`);
    if (!figure) return;
    const {clientWidth: width, clientHeight: height} = figure;
    const paper_bgcolor = getComputedStyle(document.body).backgroundColor;
    const drawn = { data: figure.data, layout: { ...figure.layout, paper_bgcolor } };
    const options = { format: kind, filename: `moldable-${id}`, scale: 2, width, height };
    // Plotly makes one picture at a time.
    saved = saved.then(() => window.Plotly.downloadImage(drawn, options)).catch(() => null);
  };
})();
