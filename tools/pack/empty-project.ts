import { type ChildProcess, type ExecFileException, execFile, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

const MODULES = JSON.stringify({ name: "project", private: true, type: "module" });

/** A folder with a package.json and what is installed into it, apart from the clone: nothing there can help. */
export class EmptyProject {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** @param files texts by name; default: the package.json of a project with ES modules */
  static async make(files: Readonly<Record<string, string>> = { "package.json": MODULES }): Promise<EmptyProject> {
    const folder = await mkdtemp(join(tmpdir(), "mainspring-project-"));
    const project = new EmptyProject(folder);
    for (const [file, text] of Object.entries(files)) await project.write(file, text);
    return project;
  }

  write(file: string, text: string): Promise<void> {
    return writeFile(join(this.folder, file), text);
  }

  /** @param packages names with versions, or paths of tarballs */
  async install(...packages: string[]): Promise<void> {
    const args = ["install", "--no-audit", "--no-fund", "--loglevel=error", ...packages];
    const { code, stdout, stderr } = await this.run("npm", args);
    if (code !== 0) throw new Error(`npm install ended with ${code}: ${stdout}${stderr}`);
  }

  /** Runs a program in the folder until it ends; one that does not end is killed, and has no exit code. */
  run(program: string, args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
    const options = {
      cwd: this.folder,
      env: { ...inherited(), ...env },
      timeout: 120_000,
      killSignal: "SIGKILL",
    } as const;
    return new Promise((resolve, reject) => {
      const child = execFile(program, args, options, (error: ExecFileException | null, stdout, stderr) => {
        if (typeof error?.code === "string") reject(error);
        else resolve({ code: child.exitCode, stdout, stderr });
      });
      child.stdin?.end();
    });
  }

  /** Starts a program in the folder, as the leader of a process group of its own. */
  start(program: string, args: readonly string[], env: Record<string, string> = {}): ChildProcess {
    const options = { cwd: this.folder, env: { ...inherited(), ...env }, detached: true } as const;
    return spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  }

  async remove(): Promise<void> {
    // Children of a program that has ended may still write.
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 500 });
  }
}

/** Variables that `npm run` and the tester set for the clone must not reach the project. */
function inherited(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(MAINSPRING_|NODE_OPTIONS|NODE_TEST)/.test(name)),
  );
}
