import type { CaseKey, Costs, Figure, MeasuredCase } from "../capacity/costs.ts";
import { type Needs, shareOf, short } from "../capacity/needs.ts";
import type { Plan } from "../capacity/plan.ts";
import { table } from "./output.ts";

/** Needs for programs, with the measured inputs from which they follow. */
export function documentOf(plan: Plan, { needs, ...rest }: Needs, costs: Costs): object {
  const inputs = inputsOf(needs, costs);
  return {
    plan,
    ...rest,
    needs: needs.map((need) => ({ ...need, share: shareOf(need) })),
    inputs: Object.fromEntries(inputs.map(({ key, measured }) => [key, measured])),
    machines: Object.fromEntries(inputs.map(({ measured: { file } }) => [file, costs.machines[file] ?? {}])),
  };
}

export function capacityText(needs: Needs, costs: Costs): string {
  const inputs = inputsOf(needs.needs, costs);
  const files = [...new Set(inputs.map(({ measured }) => measured.file))];
  return [
    table(["NEED", "AMOUNT", "OF ITS LIMIT", "FORMULA"], needs.needs.map(rowOf)),
    bottleneckText(needs),
    table(
      ["MEASURED CASE", "CONTENDER", "FIGURES", "COMMIT", "WHEN"],
      inputs.map(({ measured }) => inputRow(measured, costs)),
    ),
    ...files.map(
      (file) =>
        `${file}: ${Object.entries(costs.machines[file] ?? {})
          .map(pairText)
          .join("; ")}.`,
    ),
    ...needs.notMeasured.map((text) => `Not measured in this report: ${text}.`),
    "The costs are those of that machine with jobs that do nothing, and larger clusters than three nodes are extrapolated.",
  ].join("\n\n");
}

export function rowOf(need: Needs["needs"][number]): string[] {
  const share = shareOf(need);
  const limit = need.limit === null || share === null ? "-" : `${percent(share)} of ${short(need.limit)}`;
  return [need.name, `${short(need.value)}${need.unit === "" ? "" : ` ${need.unit}`}`, limit, need.formula];
}

function bottleneckText({ bottleneck: { name, share, jobsPerDayAtLimit } }: Needs): string {
  const fits = share > 1 ? "The plan does not fit. " : "";
  const at = jobsPerDayAtLimit === 0 ? "at any load" : `at about ${rounded(jobsPerDayAtLimit)} jobs a day`;
  return `${fits}First bottleneck: ${name}. It takes ${percent(share)} of its limit, and is full ${at}.`;
}

/** A number with two significant digits. */
export function rounded(value: number): string {
  return short(Number(value.toPrecision(2)));
}

export function percent(share: number): string {
  return `${rounded(share * 100)} %`;
}

function inputsOf(needs: Needs["needs"], costs: Costs): { key: CaseKey; measured: MeasuredCase }[] {
  const keys = [...new Set(needs.flatMap(({ from }) => from))];
  return keys.flatMap((key) => {
    const measured = costs.cases[key];
    return measured === null ? [] : [{ key, measured }];
  });
}

function inputRow({ title, contender, figures, commit, at }: MeasuredCase, { titles }: Costs): string[] {
  const values = (Object.entries(figures) as [Figure, number][]).map(
    ([name, value]) => `${titles[name]} ${short(value)}`,
  );
  return [title, contender, values.join("; "), commit, at.slice(0, 10)];
}

function pairText([name, value]: [string, string]): string {
  return `${name} ${value}`;
}
