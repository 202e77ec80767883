import "./compile-cache.mjs";

// Plain JavaScript that old versions of Node can read: it must be able to say that they are too old.
// `node --import` runs it before a TypeScript file that such a Node could not even load.

const [major, minor] = process.versions.node.split(".").map(Number);
// Running TypeScript without a flag came with 22.18 and 23.6.
const runsTypeScript = major >= 24 || (major === 23 && minor >= 6) || (major === 22 && minor >= 18);

const isInstalled = import.meta.url.includes("/node_modules/");
const inRepository = [
  "Either run it through npm, which uses the Node that `npm ci` put into node_modules:",
  "  npm start                    (the server)",
  "  npm run mainspring -- --help (everything else)",
  "or install Node 22.18 or newer. If npm says the same, its install scripts are switched off (ignore-scripts):",
  "allow them for the package `node` and run `npm ci` again, or install Node 22.18 or newer.",
];

if (!runsTypeScript) {
  console.error(
    [
      `Mainspring needs Node 22.18 or newer; this is Node ${process.versions.node} (${process.execPath}).`,
      ...(isInstalled
        ? ["Install Node 22.18 or newer. The SDK runs on Node 20 too; the server and this command do not."]
        : inRepository),
    ].join("\n"),
  );
  process.exit(1);
}
