import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Ledger } from "../contenders/contender.ts";

const run = promisify(execFile);
const CLIENT = "/usr/bin/redis-cli";

/** A Redis that is Mainspring's store, which the bench asks for its costs. */
export class StoreRedis {
  readonly pid: number;
  readonly #port: string;

  private constructor(pid: number, port: string) {
    this.pid = pid;
    this.#port = port;
  }

  /** @param url address on the loopback, without a login */
  static async at(url: string): Promise<StoreRedis> {
    const { port } = new URL(url);
    return new StoreRedis(numberIn(await ask(port, "INFO", "server"), "process_id"), port);
  }

  /** Bytes of memory of all data, with the overhead of Redis for it. */
  async storedBytes(): Promise<number> {
    return numberIn(await ask(this.#port, "INFO", "memory"), "used_memory_dataset");
  }

  async ledger(): Promise<Ledger> {
    const told = await ask(this.#port, "INFO", "persistence");
    return { logBytes: numberIn(told, "aof_current_size"), rewrites: numberIn(told, "aof_rewrites"), writes: null };
  }

  /** Removes all data. */
  async empty(): Promise<void> {
    await ask(this.#port, "FLUSHALL");
  }
}

async function ask(port: string, ...command: readonly string[]): Promise<string> {
  return (await run(CLIENT, ["-h", "127.0.0.1", "-p", port, ...command])).stdout;
}

function numberIn(info: string, name: string): number {
  return Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1]);
}
