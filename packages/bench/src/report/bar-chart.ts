/** A bar, or several parts stacked. */
export interface Bar {
  label: string;
  /** Values of the parts, in the order of the legend. */
  values: readonly number[];
  /** Range of the value over the runs; only for a bar with one part. */
  min?: number;
  max?: number;
  /** Label at its end. */
  text: string;
  isOurs: boolean;
}

export interface BarChart {
  title: string;
  /** Names of the parts; empty: there is one part. */
  legend: readonly string[];
  bars: readonly Bar[];
  /** Whether the axis is logarithmic, for values that differ by orders of magnitude. */
  isLogarithmic: boolean;
}

const [WIDTH, LEFT, RIGHT, TOP, ROW, BAR] = [800, 220, 110, 52, 30, 18];
const OURS = ["#1f6feb", "#79b8ff", "#c8e1ff"];
const THEIRS = ["#6e7781", "#a8b0b8", "#d5d9dd"];

/** Creates a horizontal bar chart as SVG, which is readable on light and dark pages, and uses no font of its own. */
export function barChart({ title, legend, bars, isLogarithmic }: BarChart): string {
  const largest = Math.max(...bars.map(({ values, max }) => Math.max(sum(values), max ?? 0)));
  const smallest = Math.min(...bars.map(({ values, min }) => Math.min(sum(values), min ?? Number.POSITIVE_INFINITY)));
  // The axis starts below the smallest value, so that this value has a visible bar too.
  const floor = 10 ** Math.floor(Math.log10(Math.max(smallest, 1e-3)) - 0.3);
  const share = (value: number) =>
    isLogarithmic ? Math.log(Math.max(value, floor) / floor) / Math.log(largest / floor) : value / largest;
  const x = (value: number) => LEFT + share(value) * (WIDTH - LEFT - RIGHT);
  const height = TOP + bars.length * ROW + 12;
  const rows = bars.map((bar, index) => rowOf(bar, TOP + index * ROW, x));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="13">`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    `<text x="16" y="24" font-size="15" font-weight="bold" fill="#1f2328">${escaped(title)}</text>`,
    ...legend.map((name, index) => legendOf(name, index)),
    ...rows,
    "</svg>",
    "",
  ].join("\n");
}

function rowOf({ label, values, min, max, text, isOurs }: Bar, y: number, x: (value: number) => number): string {
  const colors = isOurs ? OURS : THEIRS;
  const parts: string[] = [];
  let from = 0;
  for (const [index, value] of values.entries()) {
    const [x1, x2] = [from === 0 ? LEFT : x(from), x(from + value)];
    parts.push(rect(x1, y, x2 - x1, colors[index % colors.length] ?? ""));
    from += value;
  }
  const middle = y + BAR / 2;
  if (min !== undefined && max !== undefined && max > min) {
    parts.push(`<path d="M${px(x(min))} ${middle}H${px(x(max))}" stroke="#1f2328" stroke-width="2" opacity="0.6"/>`);
  }
  const end = Math.max(x(from), max === undefined ? 0 : x(max));
  return [
    `<text x="${LEFT - 8}" y="${middle + 4}" text-anchor="end" fill="#1f2328"${isOurs ? ' font-weight="bold"' : ""}>${escaped(label)}</text>`,
    ...parts,
    `<text x="${px(end + 6)}" y="${middle + 4}" fill="#1f2328">${escaped(text)}</text>`,
  ].join("");
}

function legendOf(name: string, index: number): string {
  const x = LEFT + index * 130;
  return `${rect(x, 32, 10, THEIRS[index] ?? "", 10)}<text x="${x + 15}" y="41" font-size="12" fill="#57606a">${escaped(name)}</text>`;
}

function rect(x: number, y: number, width: number, fill: string, height = BAR): string {
  return `<rect x="${px(x)}" y="${y}" width="${px(Math.max(1, width))}" height="${height}" fill="${fill}"/>`;
}

function px(value: number): string {
  return value.toFixed(1);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
