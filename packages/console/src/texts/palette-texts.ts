/** Texts of the command palette. */
export const PALETTE_TEXTS = {
  open: "Go to…",
  shortcut: "Ctrl+K",
  title: "Go to a page, an id, a pool or a handler",
  none: "Nothing has this name. A whole id leads to its execution, job or run.",
  kinds: {
    page: "page",
    execution: "execution",
    job: "job",
    workflow: "run of a workflow",
    pool: "executions of the pool",
    handler: "executions of the handler",
  },
};
