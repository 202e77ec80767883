import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../clock.ts";
import { type Child, forkNode } from "./child.ts";

export interface ProcessGroupOptions {
  /** Role of the members, as in the names of their files. */
  role: string;
  program: string;
  folder: string;
  /** Arguments of the next member; `historyFile` is new for each. */
  argumentsFor(historyFile: string, hired: number): string[];
}

export interface Member {
  child: Child;
  historyFile: string;
}

/** Processes of one kind: a killed one is replaced, and each writes a history of its own. */
export class ProcessGroup {
  readonly historyFiles: string[] = [];
  readonly deaths: string[] = [];
  readonly #options: ProcessGroupOptions;
  readonly #members = new Set<Member>();

  constructor(options: ProcessGroupOptions) {
    this.#options = options;
  }

  get members(): readonly Member[] {
    return [...this.#members];
  }

  hire(): Member {
    const { role, program, folder, argumentsFor } = this.#options;
    const hired = this.historyFiles.length;
    const historyFile = join(folder, `${role}-${hired}.jsonl`);
    // The file is read from now on, whether its writer has started or not.
    writeFileSync(historyFile, "");
    const child = forkNode(program, argumentsFor(historyFile, hired), {
      logFile: join(folder, `${role}-${hired}.log`),
    });
    const member = { child, historyFile };
    this.historyFiles.push(historyFile);
    this.#members.add(member);
    void child.ended.then((why) => {
      if (this.#members.delete(member)) this.deaths.push(`${role} ${child.pid} ended by itself with ${why}`);
    });
    return member;
  }

  /** Kills a member. @returns promise that resolves when it has ended */
  async kill(member: Member): Promise<void> {
    this.#members.delete(member);
    member.child.signal("SIGKILL");
    await member.child.ended;
  }

  /**
   * Asks members to leave, and kills those that do not leave within the time. @returns promise that resolves when they
   * have ended
   */
  async dismiss(members: readonly Member[], withinMs: number, ask: (child: Child) => void): Promise<void> {
    for (const member of members) {
      this.#members.delete(member);
      ask(member.child);
    }
    await Promise.all(members.map((member) => this.#seeOff(member, withinMs)));
  }

  async #seeOff(member: Member, withinMs: number): Promise<void> {
    const { child } = member;
    const { role } = this.#options;
    try {
      const end = await until(`${role} ${child.pid} left`, withinMs, () => child.endedBy());
      if (end !== "code 0") this.deaths.push(`${role} ${child.pid} left with ${end}`);
    } catch (error) {
      this.deaths.push((error as Error).message);
      await this.kill(member);
    }
  }
}
