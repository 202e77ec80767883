/** An instruction of a Dockerfile. */
export interface Instruction {
  /** Its name in capitals, as RUN. */
  name: string;
  text: string;
}

/** A stage of a Dockerfile. */
export interface Stage {
  base: string;
  /** Name that later stages use; null: none. */
  name: string | null;
  instructions: Instruction[];
}

/**
 * Reads the stages of a Dockerfile. Arguments (ARG) before the first stage are put in where they are used.
 * @throws {Error} an instruction stands before the first stage
 */
export function readDockerfile(text: string): Stage[] {
  const stages: Stage[] = [];
  const values = new Map<string, string>();
  for (const { name, text: rest } of instructionsOf(text)) {
    const filled = rest.replaceAll(/\$\{(\w+)\}/g, (whole, key: string) => values.get(key) ?? whole);
    const stage = stages.at(-1);
    if (name === "FROM") {
      const [, base = "", as = null] = /^(\S+)(?: AS (\S+))?$/i.exec(filled) ?? [];
      stages.push({ base, name: as, instructions: [] });
    } else if (stage !== undefined) stage.instructions.push({ name, text: filled });
    else if (name === "ARG") values.set(filled.slice(0, filled.indexOf("=")), filled.slice(filled.indexOf("=") + 1));
    else throw new Error(`${name} stands before the first FROM`);
  }
  return stages;
}

function instructionsOf(text: string): Instruction[] {
  const lines = text.split("\n").filter((line) => !/^\s*(#|$)/.test(line));
  const joined = lines.join("\n").replaceAll(/\\\n\s*/g, "");
  return joined.split("\n").map((line) => {
    const [, name = "", rest = ""] = /^\s*(\w+)\s+(.*)$/.exec(line) ?? [];
    return { name: name.toUpperCase(), text: rest };
  });
}

/** Words of an instruction in the form of a JSON array, or else for a shell. */
export function argvOf(text: string): string[] {
  return text.startsWith("[") ? (JSON.parse(text) as string[]) : ["/bin/sh", "-c", text];
}

/** Variables of an ENV instruction, as NAME=value NAME=value. */
export function variablesOf(text: string): Record<string, string> {
  return Object.fromEntries(Array.from(text.matchAll(/(\w+)=(\S*)/g), ([, name = "", value = ""]) => [name, value]));
}
