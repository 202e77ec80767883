import { Worker } from "@mainspring/sdk";
import { importTask } from "./csv-import.ts";

// A worker for imports, as a program of its own: `TABLE_URL=http://… npx node examples/csv-import-worker.ts`. It writes rows
// to a service that keeps them by number.
const table = process.env["TABLE_URL"] ?? "http://127.0.0.1:9000/rows";

const imports = importTask(async ({ first, rows }, signal) => {
  const response = await fetch(`${table}/${first}`, { method: "PUT", body: JSON.stringify(rows), signal });
  if (!response.ok) throw new Error(`${table} answered ${response.status}`);
});

await new Worker({ pool: "imports", tasks: [imports] }).run();
