import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { theme, zone } from "../state/preferences.ts";
import { clockText } from "../text/times.ts";
import { TEXTS } from "../texts.ts";

const HEIGHT = 180;
/** Colours of lines in the style sheet, in the order of the lines. */
export const LINES_MAX = 4;

export interface Line {
  label: string;
  /** Values at the times; null: none, and the line has a gap. */
  values: (number | null)[];
}

/** Part of a chart without figures, in seconds since 1970. */
export interface Shade {
  fromSec: number;
  untilSec: number;
}

interface ChartProps {
  /** Description of what it shows now, for those who do not see it. */
  text: string;
  /** Times in seconds since 1970, ascending. */
  times: number[];
  /** Time in seconds since 1970 at which the chart begins. */
  fromSec: number;
  /** Lines, at most `LINES_MAX`. */
  lines: Line[];
  /** Parts that are shaded, because figures are missing. */
  gaps: readonly Shade[];
}

/** Lines over time, with gaps where there is no figure. */
export function Chart({ text, times, fromSec, lines, gaps }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const drawn = useRef({ gaps, fromSec });
  drawn.current = { gaps, fromSec };
  const labels = lines.map(({ label }) => label).join();
  const colours = theme.value;
  const clocks = zone.value;
  useEffect(() => {
    const { current } = place;
    if (current === null) return undefined;
    const made = new uPlot(optionsOf(current, lines, clocks, drawn), dataOf(times, lines), current);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: current.clientWidth, height: HEIGHT }));
    resized.observe(current);
    return () => {
      resized.disconnect();
      made.destroy();
    };
    // The plot is made again when its lines, its colours or its clocks are others; new values come by the effect below.
  }, [labels, colours, clocks]);
  useEffect(() => plot.current?.setData(dataOf(times, lines)));
  const gapsText = gaps.length === 0 ? "" : `. ${TEXTS.gaps(gaps.length)}`;
  return (
    <>
      <div ref={place} class="chart" role="img" aria-label={text + gapsText} />
      {lines.length > 1 && (
        <ul class="key">
          {lines.map(({ label }, number) => (
            <li key={label} class={`key-${number + 1}`}>
              {label}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function dataOf(times: number[], lines: Line[]): uPlot.AlignedData {
  return [times, ...lines.map(({ values }) => values)];
}

function optionsOf(
  place: HTMLElement,
  lines: Line[],
  clocks: string,
  drawn: { current: Pick<ChartProps, "gaps" | "fromSec"> },
): uPlot.Options {
  const colour = (name: string) => colourOf(place, name);
  const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
  const shade = colour("--line");
  return {
    width: Math.max(place.clientWidth, 200),
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    tzDate: (sec) => uPlot.tzDate(new Date(sec * 1_000), clocks),
    scales: {
      x: { range: (_plot, least, most) => [Math.max(least, drawn.current.fromSec), most] },
      y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.1 : 1] },
    },
    axes: [
      { ...axis, values: (_plot, times) => times.map((sec) => minuteText(sec, clocks)) },
      { ...axis, size: 60 },
    ],
    series: [{}, ...lines.map(({ label }, number) => ({ label, stroke: colour(`--chart-${number + 1}`), width: 2 }))],
    hooks: { drawClear: [(plot) => shaded(plot, drawn.current.gaps, shade)] },
  };
}

/** Hour and minute, as 15:20. */
function minuteText(sec: number, clocks: string): string {
  return clockText(sec * 1_000, clocks).slice(0, 5);
}

/** Fills the parts of a plot that have no figures. */
function shaded(plot: uPlot, gaps: readonly Shade[], colour: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.fillStyle = colour;
  for (const { fromSec, untilSec } of gaps) {
    const from = plot.valToPos(fromSec, "x", true);
    ctx.fillRect(from, bbox.top, plot.valToPos(untilSec, "x", true) - from, bbox.height);
  }
  ctx.restore();
}

/** Colour that a variable of the style sheet has in the theme, in a form that a canvas understands. */
function colourOf(place: HTMLElement, name: string): string {
  place.style.color = `var(${name})`;
  const { color } = getComputedStyle(place);
  place.style.color = "";
  return color;
}
