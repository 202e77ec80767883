import { parseArgs } from "node:util";
import { drain } from "./drain.ts";
import { nextFireTimes } from "./next-fire.ts";

const SCENARIOS = { drain, "next-fire": nextFireTimes };

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    jobs: { type: "string", default: "200000" },
    runs: { type: "string", default: "3" },
    store: { type: "string" },
  },
});
const name = positionals[0] ?? "";
if (!(name in SCENARIOS)) {
  console.error(
    `Usage: npm run bench -- <${Object.keys(SCENARIOS).join("|")}> [--jobs N] [--runs N] [--store postgres://…]`,
  );
  process.exit(2);
}
await SCENARIOS[name as keyof typeof SCENARIOS]({
  jobs: Number(values.jobs),
  runs: Number(values.runs),
  ...(values.store !== undefined && { store: values.store }),
});
