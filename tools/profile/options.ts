import { parseArgs } from "node:util";
import { endToEndTests } from "./end-to-end.ts";
import { PROFILES } from "./profiles.ts";
import type { ProfileOptions } from "./run-profile.ts";
import { hasSetting } from "./servers.ts";

const NODES_MAX = 9;
export const USAGE = `Usage: npm run profile -- ${Object.keys(PROFILES).join("|")} [--nodes N] [--set MAINSPRING_NAME=VALUE]… [--check [--only PART,PART]]`;

/** @throws {Error} an option cannot be used; the message says why */
export function readOptions(args: readonly string[]): ProfileOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      nodes: { type: "string", default: "3" },
      set: { type: "string", multiple: true, default: [] },
      check: { type: "boolean", default: false },
      only: { type: "string" },
    },
  });
  const [name = ""] = positionals;
  const profile = positionals.length === 1 && Object.hasOwn(PROFILES, name) ? PROFILES[name] : undefined;
  if (profile === undefined) throw new Error(`there is no profile "${positionals.join(" ")}"`);
  const nodes = Number(values.nodes);
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > NODES_MAX) throw new Error(`--nodes must be 1 to ${NODES_MAX}`);
  if (values.only !== undefined && !values.check) throw new Error("--only belongs to --check");
  const only = values.only?.split(",") ?? [];
  // The tests are found before any server starts.
  const settings = Object.fromEntries(values.set.map(settingOf));
  endToEndTests(only, { nodes, settings: { ...profile.settings, ...settings } });
  return { name, nodes, settings, check: values.check, only };
}

function settingOf(text: string): [string, string] {
  const at = text.indexOf("=");
  const name = text.slice(0, at);
  if (at < 0 || !hasSetting(name))
    throw new Error(`--set must be a setting of this version and its value, not "${text}"`);
  return [name, text.slice(at + 1)];
}
