import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Client, task, workflow } from "@mainspring/sdk";

interface Sale {
  shop: string;
  cents: number;
}

interface Stock {
  item: string;
  left: number;
}

interface Weather {
  summary: string;
}

export interface Settings {
  /** Addresses of the sources, which take `?day=2026-03-01`. */
  sources: { sales: string; stock: string; weather: string };
  /** Folder for the reports, one file for each day. */
  folder: string;
  /** The present time. */
  now: () => Date;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** A task that fetches what a source has for a day: JSON of at most 1 MiB, because it travels as a result. */
function sourceTask<T>(name: string, url: string) {
  return task({
    name: `fetch-${name}`,
    timeoutSec: 120,
    retry: { maxAttempts: 5, backoff: "EXPONENTIAL", initialDelayMs: MINUTE_MS, jitter: false },
    run: async ({ day }: { day: string }, ctx) => {
      const response = await fetch(`${url}?day=${day}`, { signal: ctx.signal });
      if (!response.ok) throw new Error(`${name} answered ${response.status}`);
      return (await response.json()) as T;
    },
  });
}

/**
 * A report of the day before that needs three sources. They are fetched at the same time. Without sales or stock there is no
 * report. The weather may be missing, and the report says so.
 */
export function sourcesReport({ sources, folder, now }: Settings) {
  const fetchSales = sourceTask<Sale[]>("sales", sources.sales);
  const fetchStock = sourceTask<Stock[]>("stock", sources.stock);
  const fetchWeather = sourceTask<Weather>("weather", sources.weather);

  // Every later node takes the day from this one, so an attempt after midnight, and the retry of a run days later, asks for the same day.
  const pickDay = task({
    name: "pick-day",
    run: () => ({ day: new Date(now().getTime() - DAY_MS).toISOString().slice(0, 10) }),
  });

  const render = task({
    name: "render-report",
    run: async (report: { day: string; sales: Sale[]; stock: Stock[]; weather: Weather | null }, ctx) => {
      const file = join(folder, `${report.day}.md`);
      await mkdir(folder, { recursive: true });
      // A reader never sees half a report, and an attempt that runs beside its successor has a file of its own.
      const draft = `${file}.${ctx.attempt}`;
      await writeFile(draft, textOf(report));
      await rename(draft, file);
      return { file, missing: report.weather === null ? ["weather"] : [] };
    },
  });

  return workflow("sources-report", { timeoutSec: 6 * 3_600 }, (w) => {
    const { day } = w.node("day", pickDay);
    const sales = w.node("sales", fetchSales, { day });
    const stock = w.node("stock", fetchStock, { day });
    // The report shall not wait for an hour for something that it can do without.
    const once = { maxAttempts: 2, backoff: "FIXED", initialDelayMs: MINUTE_MS, jitter: false } as const;
    const weather = w.node("weather", fetchWeather, { day }, { allowFailure: true, retryPolicy: once });
    return w.node("report", render, { day, sales, stock, weather: w.orNull(weather) });
  });
}

/** Makes a report each night. A program calls this at each of its starts. */
export function scheduleReport(client: Client, report: ReturnType<typeof sourcesReport>) {
  return report.schedule(client, { schedule: "0 4 * * *", timezone: "Europe/Berlin", overlap: "SKIP" });
}

function textOf({
  day,
  sales,
  stock,
  weather,
}: {
  day: string;
  sales: Sale[];
  stock: Stock[];
  weather: Weather | null;
}) {
  const total = sales.reduce((sum, { cents }) => sum + cents, 0);
  const low = stock.filter(({ left }) => left < 10).map(({ item }) => item);
  return [
    `# ${day}`,
    `- Sales: ${(total / 100).toFixed(2)} in ${sales.length} shops`,
    `- Nearly sold out: ${low.join(", ") || "nothing"}`,
    `- Weather: ${weather?.summary ?? "MISSING, the source did not answer"}`,
    "",
  ].join("\n");
}
