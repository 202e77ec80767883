import process from "node:process";
import { Argument, Command } from "commander";
import { bashCompletion } from "../completion/bash.ts";
import { fishCompletion } from "../completion/fish.ts";
import { placesOf } from "../completion/places.ts";
import { zshCompletion } from "../completion/zsh.ts";

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

const HOW = `
For this shell:  source <(mainspring completion bash)    (zsh alike; fish: mainspring completion fish | source)
For good, put that line into ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish.`;

export function completionCommand(): Command {
  const command = new Command("completion");
  return command
    .description("print what makes a shell complete commands and options")
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(SHELLS)))
    .addHelpText("after", HOW)
    .action((shell: keyof typeof SHELLS) => {
      const program = command.parent ?? command;
      process.stdout.write(`${SHELLS[shell](program.name(), placesOf(program))}\n`);
    });
}
