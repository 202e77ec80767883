import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { capacityCommand } from "../src/commands/capacity.ts";
import { mainspring } from "./testing/command.ts";

interface Document {
  nodes: number;
  needs: { name: string; value: number; share: number | null; from: string[] }[];
  bottleneck: { name: string; share: number };
  inputs: Record<string, { case: string; commit: string; file: string }>;
  machines: Record<string, Record<string, string>>;
}

/** Message with which the command refuses its words. */
async function refusal(...words: string[]): Promise<string> {
  const command = capacityCommand().exitOverride();
  let said = "";
  command.configureOutput({ writeErr: (text) => (said += text) });
  await assert.rejects(command.parseAsync(words, { from: "user" }), { name: "CommanderError" });
  return said;
}

describe("mainspring capacity", () => {
  it("prints needs with their formulas, the bottleneck, and the cases that were measured", async () => {
    const { code, stdout, stderr } = await mainspring(["capacity", "--jobs-per-day", "8640000"]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^jobs, mean +100 \/s +- +8,640,000 \/ 86,400 s$/m);
    assert.match(stdout, /^store CPU, peak +[\d.,]+ cores +[\d.,]+ % of 8 +300\/s × \(/m);
    assert.match(
      stdout,
      /^First bottleneck: [A-Za-z ,]+\. It takes [\d.,]+ % of its limit, and is full at about [\d,]+ jobs a day\.$/m,
    );
    assert.match(stdout, /^pickup at 200 jobs\/s.* [0-9a-f]{12} .*20\d\d-\d\d-\d\d$/m);
    assert.match(stdout, /^docs\/performance\/results\.json: CPU .*PostgreSQL/m);
  });

  it("prints JSON for programs, in which every need names its inputs", async () => {
    const words = ["capacity", "--jobs-per-day", "100000000", "--nodes", "3", "--submits", "batches", "--json"];
    const { code, stdout } = await mainspring([...words, "--workers", "10000", "--attempts", "1.05"]);
    assert.equal(code, 0);
    const { nodes, needs, bottleneck, inputs, machines } = JSON.parse(stdout) as Document;
    assert.equal(nodes, 3);
    for (const { from } of needs) for (const key of from) assert.ok(machines[inputs[key]?.file ?? ""], key);
    assert.equal(bottleneck.share, needs.find(({ name }) => name === bottleneck.name)?.share);
  });

  it("refuses words that it cannot use, and says what would be right", async () => {
    assert.match(await refusal(), /required option '--jobs-per-day <count>' not specified/);
    const jobs = ["--jobs-per-day", "1000"];
    const refused: [string[], RegExp][] = [
      [["--jobs-per-day", "-5"], /--jobs-per-day.*Give a whole number from 1 to 1000000000000/],
      [["--jobs-per-day", "0"], /Give a whole number from 1 to/],
      [["--jobs-per-day", "1e6"], /Give a whole number from 1 to/],
      [["--jobs-per-day", "1000000000001"], /Give a whole number from 1 to/],
      [[...jobs, "--peak-factor", "0.5"], /--peak-factor.*Give a number from 1 to 1000/],
      [[...jobs, "--payload-bytes", "1048577"], /--payload-bytes.*Give a whole number from 0 to 1048576/],
      [[...jobs, "--attempts", "0"], /--attempts.*Give a number from 1 to 100/],
      [[...jobs, "--nodes", "0"], /--nodes.*Give a whole number from 1 to 10000/],
      [[...jobs, "--cores-per-node", "NaN"], /--cores-per-node.*Give a number from 0.1 to 1024/],
      [[...jobs, "--events", "redis"], /--events.*Allowed choices are off, api, kafka/],
      [[...jobs, "--submits", "many"], /--submits.*Allowed choices are single, batches/],
      [[...jobs, "--job-size", "5"], /unknown option '--job-size'/],
      [[...jobs, "more"], /too many arguments/],
    ];
    for (const [words, message] of refused) assert.match(await refusal(...words), message);
    const { code, stdout } = await mainspring(["capacity", "--jobs-per-day", "-5"]);
    assert.deepEqual([code, stdout], [2, ""]);
  });
});
