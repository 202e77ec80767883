const [seed, jobs, workers, pattern, last] = process.argv.slice(2);
const { simulateAndTell } = await import("./src/simulate.ts");
const { verdict, history } = await simulateAndTell({
  seed: Number(seed),
  hours: 1,
  nodes: 3,
  workers: Number(workers),
  jobs: Number(jobs),
});
const re = new RegExp(pattern ?? ".");
const lines = history.entries
  .map((e: any) => {
    const { atMs, kind, ...rest } = e;
    return `${(atMs / 1000).toFixed(3)} ${kind} ${JSON.stringify(rest)}`.slice(0, 3000);
  })
  .filter((l: string) => re.test(l));
console.log(lines.slice(-Number(last ?? 60)).join("\n"));
console.log(verdict.violation);
