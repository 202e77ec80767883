import process from "node:process";
import { Command } from "commander";
import { shown } from "../secrets.ts";
import { Output, screenText, table } from "../text/output.ts";

interface Setting {
  key: string;
  /** Value of the setting; null: none. Secrets are hidden. */
  value: string | null;
  /** Origin of the value: `environment`, `default`, or the path of a file. */
  from: string;
}

export function configCommand(): Command {
  return new Command("config")
    .description("show the configuration that `serve` would have here, and where each value comes from")
    .option("--json", "print JSON for programs, one setting a line")
    .action(async ({ json }: { json?: boolean }) => {
      await new Output(json === true).list(settingsOf(process.env), Number.POSITIVE_INFINITY, settingsText);
    });
}

/** Lists all settings. @throws {ConfigError} `serve` would not start with this configuration */
async function* settingsOf(env: NodeJS.ProcessEnv): AsyncGenerator<Setting, void, undefined> {
  const { describeKeys, givenValues, loadConfig } = await import("@mainspring/server");
  // The configuration is loaded first, so that the list shows exactly the values that would be used.
  const { warnings, redisStore } = loadConfig(env);
  for (const warning of warnings) process.stderr.write(`mainspring: ${screenText(warning)}\n`);
  const given = givenValues(env);
  for (const { name, fallback, onRedis } of describeKeys()) {
    const { text, from } = given[name] ?? { text: redisStore === null ? fallback : onRedis, from: "default" };
    yield { key: name, value: text === null ? null : shown(name, text), from };
  }
}

function settingsText(settings: readonly Setting[]): string {
  return table(
    ["KEY", "VALUE", "FROM"],
    settings.map(({ key, value, from }) => [key, value || "-", from]),
  );
}
