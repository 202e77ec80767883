import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "../state/preferences.ts";

const HEIGHT = 180;

export interface Line {
  label: string;
  /** Name of a colour of the style sheet, as `--chart-1`. */
  colour: string;
  /** Values at the times; null: none. */
  values: (number | null)[];
}

interface ChartProps {
  /** Description of what it shows now, for those who do not see it. */
  text: string;
  /** Times in seconds since 1970, ascending. */
  times: number[];
  lines: Line[];
}

/** Lines over time. */
export function Chart({ text, times, lines }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const labels = lines.map(({ label }) => label).join();
  const colours = theme.value;
  useEffect(() => {
    const { current } = place;
    if (current === null) return undefined;
    const made = new uPlot(optionsOf(current, lines), dataOf(times, lines), current);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: current.clientWidth, height: HEIGHT }));
    resized.observe(current);
    return () => {
      resized.disconnect();
      made.destroy();
    };
    // The plot is made again when its lines or its colours are others; new values come by the effect below.
  }, [labels, colours]);
  useEffect(() => plot.current?.setData(dataOf(times, lines)));
  return <div ref={place} class="chart" role="img" aria-label={text} />;
}

function dataOf(times: number[], lines: Line[]): uPlot.AlignedData {
  return [times, ...lines.map(({ values }) => values)];
}

function optionsOf(place: HTMLElement, lines: Line[]): uPlot.Options {
  const colour = (name: string) => colourOf(place, name);
  const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
  return {
    width: Math.max(place.clientWidth, 200),
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(1, most * 1.1)] } },
    axes: [axis, { ...axis, size: 60 }],
    series: [{}, ...lines.map(({ label, colour: name }) => ({ label, stroke: colour(name), width: 2 }))],
  };
}

/** Colour that a variable of the style sheet has in the theme, in a form that a canvas understands. */
function colourOf(place: HTMLElement, name: string): string {
  place.style.color = `var(${name})`;
  const { color } = getComputedStyle(place);
  place.style.color = "";
  return color;
}
