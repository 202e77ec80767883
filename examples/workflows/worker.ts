import { appendFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { type HookedAttempt, task, Worker } from "@mainspring/sdk";

// The worker of the workflows in this folder: `npx node examples/workflows/worker.ts`. It prints each start of a handler, or
// appends it to the file that STARTS names.

interface Order {
  customer: string;
  amount: number;
}

const extractOrders = task({
  name: "extract-orders",
  run: async ({ day, file }: { day: string; file: string }, ctx) => {
    ctx.log(`reads the orders of ${day}`);
    const rows = (await readFile(file, "utf8")).trim().split("\n");
    const orders = rows.map((row) => row.split(",")).filter(([of]) => of === day);
    return { orders: orders.map(([, customer = "", amount]): Order => ({ customer, amount: Number(amount) })) };
  },
});

const checkOrders = task({
  name: "check-orders",
  run: async ({ orders }: { orders: Order[] }, ctx) => {
    const wrong = orders.filter(({ amount }) => !(amount > 0));
    ctx.branch(orders.length > 0 && wrong.length === 0 ? "good" : "bad");
    return { orders: orders.length, wrong };
  },
});

const addUpOrders = task({
  name: "add-up-orders",
  run: async ({ orders }: { orders: Order[] }) => {
    const totals: Record<string, number> = {};
    for (const { customer, amount } of orders) totals[customer] = (totals[customer] ?? 0) + amount;
    return totals;
  },
});

const fileReport = task({
  name: "file-report",
  run: async ({ day, totals }: { day: string; totals: Record<string, number> }) => {
    const sum = Object.values(totals).reduce((all, amount) => all + amount, 0);
    return { day, customers: Object.keys(totals).length, sum };
  },
});

const countStock = task({ name: "count-stock", run: async () => ({ tea: 12, coffee: 7 }) });

const readPrices = task({
  name: "read-prices",
  // A file that is no JSON is an error of the handler, which fails as its node's policy says.
  run: async ({ file }: { file: string }) => JSON.parse(await readFile(file, "utf8")) as Record<string, number>,
});

const publishPrices = task({
  name: "publish-prices",
  run: async ({ prices, stock }: { prices: Record<string, number>; stock: Record<string, number> }) =>
    Object.keys(prices).filter((name) => (stock[name] ?? 0) > 0),
});

const listNumbers = task({
  name: "list-numbers",
  run: async ({ count }: { count: number }) => Array.from({ length: count }, (_, number) => number + 1),
});

const square = task({
  name: "square",
  run: async ({ number, ms }: { number: number; ms: number }, ctx) => {
    await ctx.sleep(ms);
    return number * number;
  },
});

const addUp = task({
  name: "add-up",
  run: async ({ squares }: { squares: number[] }) => {
    return { count: squares.length, sum: squares.reduce((all, one) => all + one, 0) };
  },
});

const note = task({ name: "note", run: async (what: { text: string }, ctx) => ctx.log(what.text) });

const tasks = [
  ...[extractOrders, checkOrders, addUpOrders, fileReport],
  ...[countStock, readPrices, publishPrices, note],
  ...[listNumbers, square, addUp],
];

const starts = process.env["STARTS"];

function onStart({ handler, executionId, attempt }: HookedAttempt): void {
  const line = `${handler} ${executionId} ${attempt}`;
  if (starts === undefined) console.log(line);
  else appendFileSync(starts, `${line}\n`);
}

const worker = new Worker({ pool: "workflows", slots: 60, tasks, onStart });
await worker.run();
