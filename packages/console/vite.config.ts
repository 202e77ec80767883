import { defineConfig } from "vite";

/** Builds the console into the package of the server, which serves the files at /console. */
export default defineConfig({
  // Addresses relative to the page, so that a proxy may add a prefix.
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: process.env["MAINSPRING_CONSOLE_OUT"] ?? "../server/console",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The licences of the libraries in the bundle, which travel with it.
    license: { fileName: "licenses.md" },
  },
});
