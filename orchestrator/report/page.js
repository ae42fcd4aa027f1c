"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const scroll = byId("scroll");
  const canvas = byId("canvas");
  const details = byId("details");
  const cursor = byId("cursor");
  const span = Number(scroll.dataset.span);
  const data = JSON.parse(byId("data").textContent);
  const svgNs = "http://www.w3.org/2000/svg";
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];
  const marks = data.map(() => []);
  let zoom = 1;
  let chosen = null;

  for (const mark of canvas.querySelectorAll(".mark")) {
    marks[Number(mark.dataset.l)][Number(mark.dataset.i)] = mark;
  }
  for (const hidden of document.querySelectorAll(".tools, .hint")) hidden.hidden = false;
  for (const lane of marks) if (lane.length) lane[0].setAttribute("tabindex", "0");

  const clock = (ms) => {
    const s = Math.round(ms / 100) / 10;
    if (s < 60) return `${s.toFixed(1)} s`;
    const two = (n) => String(n).padStart(2, "0");
    const rest = (s % 60).toFixed(1).padStart(4, "0");
    const minutes = Math.floor(s / 60);
    return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${rest}`;
  };

  const drawAxis = () => {
    const axis = byId("axis");
    const room = Math.max(2, canvas.clientWidth / 84);
    const step = 1000 * (steps.find((s) => span / (1000 * s) <= room) || steps[steps.length - 1]);
    axis.replaceChildren();
    const last = span * (1 - 44 / Math.max(88, canvas.clientWidth));
    for (let ms = 0; ms <= last; ms += step) {
      const x = `${(100 * ms) / span}%`;
      const line = document.createElementNS(svgNs, "line");
      const text = document.createElementNS(svgNs, "text");
      for (const [k, v] of [["x1", x], ["x2", x], ["y1", 0], ["y2", 20]]) line.setAttribute(k, v);
      text.setAttribute("x", x);
      text.setAttribute("y", "14");
      text.setAttribute("dx", "4");
      text.textContent = clock(ms);
      axis.append(line, text);
    }
  };

  // Pictures that would cover each other step aside until one zooms in.
  const thinPictures = () => {
    let free = -1;
    for (const picture of canvas.querySelectorAll("#frames image")) {
      const left = (Number(picture.dataset.t) / span) * canvas.clientWidth;
      const shown = left >= free;
      picture.setAttribute("visibility", shown ? "visible" : "hidden");
      if (shown) free = left + Number(picture.getAttribute("width")) + 2;
    }
  };

  const redraw = () => { drawAxis(); thinPictures(); };

  const setZoom = (next) => {
    const before = canvas.clientWidth;
    const middle = chosen ? (timeOf(chosen) / span) * before : scroll.scrollLeft + scroll.clientWidth / 2;
    const offset = middle - scroll.scrollLeft;
    zoom = Math.min(400, Math.max(1, next));
    canvas.style.width = `${100 * zoom}%`;
    scroll.scrollLeft = (middle / before) * canvas.clientWidth - offset;
    redraw();
  };

  const detailOf = (mark) => data[Number(mark.dataset.l)][Number(mark.dataset.i)];
  const timeOf = (mark) => detailOf(mark).t;

  const close = () => {
    if (chosen) chosen.classList.remove("chosen");
    chosen = null;
    details.hidden = true;
    cursor.hidden = true;
  };

  const choose = (mark) => {
    if (chosen) chosen.classList.remove("chosen");
    chosen = mark;
    mark.classList.add("chosen");
    for (const other of marks[Number(mark.dataset.l)]) other.setAttribute("tabindex", other === mark ? "0" : "-1");
    const detail = detailOf(mark);
    byId("detail-head").textContent = detail.head;
    byId("detail-text").textContent = detail.text;
    byId("detail-rows").replaceChildren(...detail.rows.map(([name, value]) => {
      const row = document.createElement("div");
      const dt = document.createElement("dt");
      const dd = document.createElement("dd");
      dt.textContent = name;
      dd.textContent = value;
      row.append(dt, dd);
      return row;
    }));
    const picture = detail.frame ? byId(`f-${detail.frame}`) : null;
    const image = byId("detail-picture");
    image.hidden = !picture;
    if (picture) image.src = picture.getAttribute("href");
    details.hidden = false;
    const left = (detail.t / span) * canvas.clientWidth;
    cursor.style.left = `${(100 * detail.t) / span}%`;
    cursor.hidden = false;
    if (left < scroll.scrollLeft + 8 || left > scroll.scrollLeft + scroll.clientWidth - 24) {
      scroll.scrollLeft = left - scroll.clientWidth / 2;
    }
  };

  const go = (mark) => {
    if (!mark) return;
    choose(mark);
    mark.focus({ preventScroll: true });
  };

  const nearest = (lane, ms) => lane.reduce((best, mark) =>
    (!best || Math.abs(timeOf(mark) - ms) < Math.abs(timeOf(best) - ms) ? mark : best), null);

  const step = (mark, key) => {
    const laneAt = Number(mark.dataset.l);
    const lane = marks[laneAt];
    const at = Number(mark.dataset.i);
    switch (key) {
      case "ArrowRight": return lane[at + 1] || mark;
      case "ArrowLeft": return lane[at - 1] || mark;
      case "Home": return lane[0];
      case "End": return lane[lane.length - 1];
      case "ArrowDown": return nearest(marks.slice(laneAt + 1).find((other) => other.length) || lane, timeOf(mark));
      case "ArrowUp": return nearest(marks.slice(0, laneAt).reverse().find((other) => other.length) || lane, timeOf(mark));
      case "Enter": case " ": return mark;
      default: return null;
    }
  };

  const loud = (direction) => {
    const all = [...canvas.querySelectorAll(".mark.spoke, .mark.delegated")];
    const now = chosen ? timeOf(chosen) : direction > 0 ? -1 : span + 1;
    const after = direction > 0 ? all.find((m) => timeOf(m) > now) : all.reverse().find((m) => timeOf(m) < now);
    if (!after) return;
    go(after);
    scroll.scrollIntoView({ block: "start" });
  };

  const actions = {
    in: () => setZoom(zoom * 2),
    out: () => setZoom(zoom / 2),
    fit: () => setZoom(1),
    next: () => loud(1),
    previous: () => loud(-1),
    close,
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-do]");
    const mark = event.target.closest(".mark");
    if (button) actions[button.dataset.do]();
    else if (mark) go(mark);
  });
  canvas.addEventListener("focusin", (event) => {
    const mark = event.target.closest(".mark");
    if (mark && mark !== chosen) choose(mark);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return close();
    const inside = scroll.contains(event.target);
    if (!inside || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") actions.in();
    else if (event.key === "-") actions.out();
    else if (event.key === "0") actions.fit();
    const mark = event.target.closest(".mark");
    const target = mark && step(mark, event.key);
    if (target) {
      event.preventDefault();
      go(target);
    }
  });
  byId("loud").addEventListener("change", (event) => {
    byId("rows").classList.toggle("only-loud", event.target.checked);
  });
  window.addEventListener("resize", redraw);
  redraw();
})();
