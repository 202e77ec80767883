#!/usr/bin/env node
import "./require-node.mjs";

// Imported only now: a Node that is too old fails while it loads TypeScript, before any line of this file runs.
const { main } = await import("../src/main.ts");
await main(process.argv.slice(2));
