/* Plays films of simulated clusters, as `moldable.explorer.film` records them.

   moldableFilm.load(data, canvasId = "film", {with: otherId, controls: elementId})
     Show a film on a canvas, in place of the one that it showed; data null removes it. A film `with`
     another one has its clock, controls and colours; films of the same seed have the same jobs. The
     controls are put into the given element, or after the canvas.
   moldableFilm.seek(time, canvasId), play(canvasId), pause(canvasId), step(canvasId)
   moldableFilm.state(canvasId)
     What is shown, as plain numbers. */
"use strict";

window.moldableFilm = (() => {
  const SHADES = ["#440154", "#443983", "#31688e", "#21918c", "#35b779", "#90d743", "#fde725"];
  const FIRST_BRIGHT = 4; // shades from this one on have black labels
  const JOBS_PER_SECOND = 3; // at speed 1
  const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];
  const FLASH = 600; // milliseconds during which a blocked job is emphasised
  const ANNOUNCED = 5000; // milliseconds between two announcements while a film plays
  const LARGEST_CELL = 34, SMALLEST_CELL = 11, AREA = 220, MARK = 18, LABEL = 18, GAP = 6;
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const films = new Map(); // by the id of the canvas

  const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
  const shown = (number) => String(Number(number.toPrecision(4)));

  /* The state of a cluster at one moment of its film. */
  class Cluster {
    constructor(data) {
      this.data = data;
      this.events = data.events;
      this.begin = this.events.length ? this.events[0][0] : 0;
      this.end = this.events.length ? this.events[this.events.length - 1][0] : 0;
      this.rewind();
    }

    rewind() {
      this.next = 0;
      this.running = new Map(); // job -> ranges of servers
      this.queue = [];
      this.arrivals = []; // by job: {width, waits, since}
      this.busy = 0;
      this.blocked = 0;
      this.last = "No job has arrived yet.";
    }

    moveTo(time) {
      if (this.next > 0 && this.events[this.next - 1][0] > time) this.rewind();
      while (this.next < this.events.length && this.events[this.next][0] <= time) {
        this.apply(...this.events[this.next]);
        this.next += 1;
      }
    }

    nextTime() {
      return this.next < this.events.length ? this.events[this.next][0] : Infinity;
    }

    apply(time, kind, job, jobClass, ranges) {
      if (kind === "end") this.release(job);
      else if (kind === "start") this.start(time, job, jobClass, ranges);
      else this.refuse(time, kind, job, jobClass);
    }

    start(time, job, jobClass, ranges) {
      const width = ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
      let after = "";
      if (this.queue[0] === job) {
        this.queue.shift();
        after = ` after waiting ${shown(time - this.arrivals[job].since)}`;
      }
      this.arrivals[job] = {width, waits: false, since: time};
      this.running.set(job, ranges);
      this.busy += width;
      this.last = `${this.name(job, jobClass)} starts on ${plural(width, "server")}${after}.`;
    }

    release(job) {
      const width = this.arrivals[job].width;
      this.running.delete(job);
      this.busy -= width;
      this.last = `Job ${job + 1} ends and leaves ${plural(width, "server")}.`;
    }

    refuse(time, kind, job, jobClass) {
      const waits = kind === "wait";
      this.arrivals[job] = {width: 0, waits, since: time};
      if (waits) this.queue.push(job);
      else this.blocked += 1;
      const idle = this.data.servers - this.busy;
      const places = this.queue.length > 0 && !waits ? " and all waiting places are taken" : "";
      this.last = `${this.name(job, jobClass)} ${waits ? "waits" : "is blocked"}: ` +
        `${plural(idle, "server").replace(/^0 servers/, "no server")} ` +
        `${idle > 1 ? "are" : "is"} idle${places}.`;
    }

    name(job, jobClass) {
      const classes = this.data.classes;
      return `Job ${job + 1}${classes.length > 1 ? ` (${classes[jobClass]})` : ""}`;
    }

    summary() {
      const waiting = this.data.waiting === 0 ? "" : `${this.queue.length} waiting, `;
      return `${this.busy} of ${plural(this.data.servers, "server")} busy, ${waiting}` +
        `${this.blocked} of ${plural(this.arrivals.length, "job")} blocked`;
    }
  }

  /* The time, the buttons and the colours that one or several films share. */
  class Clock {
    constructor(canvas, place) {
      this.films = [];
      this.time = 0;
      this.speed = 1;
      this.playing = false;
      this.ended = false; // at its last frame
      this.announced = 0;
      this.tick = this.tick.bind(this);
      this.box = document.createElement("div");
      if (place) place.append(this.box);
      else canvas.after(this.box);
      this.addControls();
    }

    addControls() {
      const group = add(this.box, "div", "moldable-film-buttons");
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", "Simulation");
      this.toggle = this.button(group, "Play", () => (this.playing ? this.pause() : this.play()));
      this.button(group, "Step", () => this.step());
      this.button(group, "Restart", () => this.restart());
      const label = add(group, "label", "", "Speed ");
      this.choice = add(label, "select", "");
      for (const speed of SPEEDS) add(this.choice, "option", "", `${speed}×`).value = speed;
      this.choice.value = 1;
      this.choice.addEventListener("change", () => { this.speed = Number(this.choice.value); });
      this.legend = add(this.box, "ul", "moldable-film-legend");
      this.now = add(this.box, "p", "moldable-film-now");
      this.live = add(this.box, "p", "moldable-film-live");
      this.live.setAttribute("role", "status");
    }

    button(group, text, action) {
      const made = add(group, "button", "", text);
      made.type = "button";
      made.addEventListener("click", action);
      return made;
    }

    /* Show the films from their beginning. */
    begin() {
      this.first = Math.min(...this.films.map((film) => film.cluster.begin));
      this.end = Math.max(...this.films.map((film) => film.cluster.end));
      const jobs = Math.max(...this.films.map((film) => film.cluster.data.jobs));
      this.perSecond = (JOBS_PER_SECOND * (this.end - this.first)) / Math.max(jobs, 1);
      const widths = new Set(this.films.flatMap((film) => film.cluster.data.widths));
      this.widths = [...widths].sort((a, b) => a - b);
      this.drawLegend();
      this.seek(this.first);
    }

    shade(width) {
      if (this.widths.length < 2) return (SHADES.length - 1) / 2;
      const place = this.widths.indexOf(width) / (this.widths.length - 1);
      return Math.round(place * (SHADES.length - 1));
    }

    drawLegend() {
      this.legend.replaceChildren();
      for (const shade of SHADES.keys()) {
        const own = this.widths.filter((width) => this.shade(width) === shade);
        if (!own.length) continue;
        const [least, most] = [own[0], own[own.length - 1]];
        const item = add(this.legend, "li", "");
        add(item, "span", "moldable-film-swatch").style.backgroundColor = SHADES[shade];
        item.append(least === most ? plural(least, "server") : `${least} to ${most} servers`);
      }
      add(this.legend, "li", "", "× blocked");
      if (this.films.some((film) => film.cluster.data.waiting !== 0)) {
        add(this.legend, "li", "", "□ waiting");
      }
    }

    play() {
      if (this.playing) return;
      if (this.time >= this.end) this.seek(this.first);
      this.playing = true;
      this.ended = false;
      this.toggle.textContent = "Pause";
      this.before = null;
      requestAnimationFrame(this.tick);
    }

    pause() {
      this.playing = false;
      this.toggle.textContent = "Play";
      this.announce();
    }

    step() {
      this.pause();
      const next = Math.min(...this.films.map((film) => film.cluster.nextTime()));
      if (next < Infinity) this.seek(next);
    }

    restart() {
      this.seek(this.first);
    }

    seek(time) {
      this.time = Math.min(Math.max(time, this.first), this.end);
      for (const film of this.films) film.cluster.moveTo(this.time);
      this.draw();
      this.announce();
    }

    tick(stamp) {
      if (!this.playing) return;
      if (!this.films.some((film) => film.canvas.isConnected)) return this.pause();
      // After a hidden tab or a slow machine the film continues where it was.
      const passed = this.before === null ? 0 : Math.min(stamp - this.before, 100);
      this.before = stamp;
      this.time = Math.min(this.time + (passed / 1000) * this.speed * this.perSecond, this.end);
      for (const film of this.films) film.cluster.moveTo(this.time);
      this.draw();
      if (stamp - this.announced > ANNOUNCED) this.announce(stamp);
      this.ended = this.time >= this.end;
      if (this.ended) return this.pause();
      requestAnimationFrame(this.tick);
    }

    draw() {
      const unit = this.films[0].cluster.data.time_unit;
      const cut = this.films.some((film) => film.cluster.data.cut);
      this.now.textContent = `Time ${shown(this.time)} of ${shown(this.end)}` +
        `${unit ? ` ${unit}` : ""}${cut ? "; it ends early, because recording took too long" : ""}`;
      for (const film of this.films) film.draw();
    }

    /* Tell screen readers: at once when a film stands still, seldom while it plays. */
    announce(stamp = performance.now()) {
      this.announced = stamp;
      const several = this.films.length > 1;
      const lines = this.films.map(({cluster}) =>
        `${several ? `${cluster.data.policy}: ` : ""}${cluster.summary()}. ${cluster.last}`);
      this.live.textContent = lines.join(" ");
    }
  }

  /* A film on its canvas. */
  class Film {
    constructor(canvas, clock) {
      this.canvas = canvas;
      this.clock = clock;
      this.text = document.createElement("p");
      this.text.className = "moldable-film-summary";
      canvas.after(this.text);
      canvas.setAttribute("role", "img");
      canvas.classList.add("moldable-film");
      this.watcher = new ResizeObserver(() => {
        if (this.canvas.clientWidth !== this.width) this.draw();
      });
      this.watcher.observe(canvas);
    }

    show(data) {
      this.cluster = new Cluster(data);
      this.canvas.setAttribute("aria-label",
        `Simulated cluster of ${plural(data.servers, "server")} under ${data.policy}`);
    }

    remove() {
      this.watcher.disconnect();
      this.text.remove();
      this.clock.films = this.clock.films.filter((film) => film !== this);
      if (!this.clock.films.length) {
        this.clock.playing = false;
        this.clock.box.remove();
      }
    }

    draw() {
      const {data} = this.cluster;
      this.text.textContent = `${data.policy}: ${this.cluster.summary()}. ${this.cluster.last}`;
      this.width = this.canvas.clientWidth;
      if (!this.width) return; // hidden
      const cell = this.cell();
      const columns = Math.max(1, Math.floor(this.width / cell));
      const rows = Math.ceil(data.servers / columns);
      const strips = data.waiting === 0 ? 1 : 2;
      const height = strips * (LABEL + MARK + GAP) + LABEL + rows * cell + 2;
      const pen = this.pen(height);
      let top = this.strip(pen, 0, "Arrivals, the newest at the right", this.arrivalMarks());
      if (data.waiting !== 0) top = this.strip(pen, top, this.queueLabel(), this.queueMarks());
      this.caption(pen, top, "Servers");
      this.servers(pen, top + LABEL, cell, columns);
    }

    cell() {
      const fit = Math.floor(Math.sqrt((this.width * AREA) / this.cluster.data.servers));
      return Math.min(LARGEST_CELL, Math.max(SMALLEST_CELL, fit));
    }

    /* Return the canvas, cleared, in units of CSS pixels, with the colours of the page. */
    pen(height) {
      const ratio = window.devicePixelRatio || 1;
      const size = [Math.round(this.width * ratio), Math.round(height * ratio)];
      if (this.canvas.width !== size[0] || this.canvas.height !== size[1]) {
        [this.canvas.width, this.canvas.height] = size;
        this.canvas.style.height = `${height}px`;
      }
      const pen = this.canvas.getContext("2d");
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.clearRect(0, 0, this.width, height);
      const style = getComputedStyle(this.canvas);
      this.ink = style.color;
      this.faint = style.getPropertyValue("--film-faint") || "#8c959f";
      this.alarm = style.getPropertyValue("--film-alarm") || "#c34f00";
      pen.font = `12px ${style.fontFamily || "sans-serif"}`;
      pen.textBaseline = "middle";
      return pen;
    }

    caption(pen, top, text) {
      pen.fillStyle = this.ink;
      pen.textAlign = "left";
      pen.fillText(text, 0, top + LABEL / 2, this.width);
    }

    /* Draw a row of marks and return where the next part begins. */
    strip(pen, top, text, marks) {
      this.caption(pen, top, text);
      const room = Math.floor(this.width / MARK);
      marks.slice(-room).forEach((mark, k) => this.mark(pen, k * MARK, top + LABEL, mark));
      return top + LABEL + MARK + GAP;
    }

    arrivalMarks() {
      const {arrivals} = this.cluster;
      const room = Math.floor(this.width / MARK);
      const flashes = this.clock.playing && !still.matches;
      const jobTime = FLASH / 1000 * this.clock.perSecond * this.clock.speed;
      return arrivals.slice(-room).map(({width, waits, since}) => ({
        width, waits, bold: flashes && this.clock.time - since < jobTime,
      }));
    }

    queueMarks() {
      const room = Math.floor(this.width / MARK);
      return this.cluster.queue.slice(0, room).map(() => ({width: 0, waits: true}));
    }

    queueLabel() {
      const {queue, data} = this.cluster;
      const places = data.waiting === "unlimited" ? "" : ` of ${data.waiting} places`;
      return `Waiting: ${queue.length}${places}, the next to start at the left`;
    }

    /* A job: its width on its colour, a cross if it is blocked, an empty square if it waits. */
    mark(pen, left, top, {width, waits, bold}) {
      const size = MARK - 3;
      if (width) {
        this.field(pen, left, top, size, size, width);
        this.label(pen, left + size / 2, top + size / 2, width, size);
        return;
      }
      pen.strokeStyle = waits ? this.ink : this.alarm;
      if (waits) {
        pen.lineWidth = 1.5;
        pen.strokeRect(left + 1.5, top + 1.5, size - 3, size - 3);
        return;
      }
      if (bold) {
        pen.fillStyle = this.alarm;
        pen.fillRect(left, top, size, size);
        pen.strokeStyle = "#ffffff";
      }
      pen.lineWidth = 2.5;
      pen.beginPath();
      pen.moveTo(left + 3, top + 3);
      pen.lineTo(left + size - 3, top + size - 3);
      pen.moveTo(left + size - 3, top + 3);
      pen.lineTo(left + 3, top + size - 3);
      pen.stroke();
    }

    servers(pen, top, cell, columns) {
      const inner = cell - 2;
      pen.strokeStyle = this.faint;
      pen.lineWidth = 1;
      for (let server = 0; server < this.cluster.data.servers; server += 1) {
        const [x, y] = [(server % columns) * cell, top + Math.floor(server / columns) * cell];
        pen.strokeRect(x + 0.5, y + 0.5, inner - 1, inner - 1);
      }
      for (const [job, ranges] of this.cluster.running) {
        const {width} = this.cluster.arrivals[job];
        for (const [first, last] of ranges) {
          this.range(pen, top, cell, columns, first, last, width);
        }
      }
    }

    /* Neighbouring servers of one job are joined, row by row. */
    range(pen, top, cell, columns, first, last, width) {
      for (let server = first; server <= last;) {
        const column = server % columns;
        const count = Math.min(last - server + 1, columns - column);
        const [x, y] = [column * cell, top + Math.floor(server / columns) * cell];
        this.field(pen, x, y, count * cell - 2, cell - 2, width);
        this.label(pen, x + (count * cell - 2) / 2, y + (cell - 2) / 2, width, cell - 2);
        server += count;
      }
    }

    field(pen, x, y, wide, high, width) {
      pen.fillStyle = SHADES[this.clock.shade(width)];
      pen.fillRect(x, y, wide, high);
      pen.strokeStyle = this.faint;
      pen.lineWidth = 1;
      pen.strokeRect(x + 0.5, y + 0.5, wide - 1, high - 1);
    }

    label(pen, x, y, width, room) {
      if (room < 13 || String(width).length * 7 > room + 1) return;
      pen.fillStyle = this.clock.shade(width) < FIRST_BRIGHT ? "#ffffff" : "#000000";
      pen.textAlign = "center";
      pen.fillText(String(width), x, y + 0.5);
    }
  }

  function add(parent, tag, className, text) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text) made.textContent = text;
    parent.append(made);
    return made;
  }

  function load(data, canvasId = "film", options = {}) {
    const canvas = document.getElementById(canvasId);
    const leader = films.get(options.with);
    let film = films.get(canvasId);
    const kept = film && data && film.canvas === canvas && (!leader || leader.clock === film.clock);
    if (film && !kept) {
      film.remove();
      films.delete(canvasId);
    }
    if (!data || !canvas) return false;
    if (!kept) {
      const place = document.getElementById(options.controls);
      const clock = leader ? leader.clock : new Clock(canvas, place);
      film = new Film(canvas, clock);
      clock.films.push(film);
      films.set(canvasId, film);
    }
    film.show(data);
    film.clock.begin();
    if ((!(kept || leader) || film.clock.ended) && !still.matches) film.clock.play();
    return true;
  }

  function state(canvasId = "film") {
    const {cluster, clock} = films.get(canvasId);
    const servers = Array(cluster.data.servers).fill(-1);
    for (const [job, ranges] of cluster.running) {
      for (const [first, last] of ranges) servers.fill(job, first, last + 1);
    }
    return {
      time: clock.time, end: clock.end, playing: clock.playing, speed: clock.speed,
      busy: cluster.busy, waiting: cluster.queue.length, blocked: cluster.blocked,
      arrived: cluster.arrivals.length, servers, queue: [...cluster.queue],
      summary: cluster.summary(), last: cluster.last,
    };
  }

  const onClock = (act) => (canvasId = "film") => act(films.get(canvasId).clock);
  for (const query of [dark, still]) {
    query.addEventListener("change", () => {
      for (const film of films.values()) film.draw();
    });
  }
  return {
    load, state,
    seek: (time, canvasId = "film") => films.get(canvasId).clock.seek(time),
    play: onClock((clock) => clock.play()),
    pause: onClock((clock) => clock.pause()),
    step: onClock((clock) => clock.step()),
  };
})();
