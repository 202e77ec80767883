import { MainspringError } from "../errors.ts";
import { isBranchName } from "../handlers/branch.ts";
import type { Task } from "../task.ts";
import {
  isNested,
  type NESTED_OPTIONS,
  type NestedWorkflow,
  type NodeWork,
  nestedFault,
  nestedPart,
  nestedPolicies,
  tasksOf,
} from "./nested-workflow.ts";
import { NodeEnds } from "./node-ends.ts";
import { factsOf, partOf, type Ref, type Reference, type RefFacts, refOf, type WithRefs } from "./ref.ts";
import { templateOf } from "./template.ts";
import type {
  NodeKey,
  NodePolicies,
  WorkflowDependency,
  WorkflowNodeRequest,
  WorkflowTarget,
} from "./workflow-requests.ts";

declare const branches: unique symbol;

/** Reference to the result of a node whose handler chooses one of the branches B. */
export type NodeRef<R, B extends string = string> = Ref<R> & { readonly [branches]: B };

/** An end of a node that another node waits for. */
export interface NodeEnd {
  readonly node: string;
  /** FAILED, FINISHED, or BRANCH:x. */
  readonly when: string;
}

/** Options of a node. */
export interface NodeOptions<B extends string = string> extends NodePolicies, NodeKey {
  /** Further nodes that must end first, beside those to which the payload refers. A node alone must have SUCCEEDED. */
  after?: readonly (Reference<unknown> | NodeEnd)[];
  /**
   * ALL (default): the node runs when all nodes before it have ended as wanted. ANY: when one has; the payload's references then
   * make no dependencies.
   */
  join?: "ALL" | "ANY";
  /** Whether the run can succeed although the node is DEAD or CANCELLED; default false. */
  allowFailure?: boolean;
  /** Branches that the handler may choose with `ctx.branch`; `branch` takes no others. Default: any name. */
  branches?: readonly B[];
  /** Pool of the workers; default: that of the workflow's `defaults`, else that of the task. */
  pool?: string;
  /** Capabilities that a worker must have. */
  requires?: readonly string[];
}

/** Options of a map. */
export interface MapOptions extends Omit<NodeOptions, "branches"> {
  /** Number of items that may be live at once. */
  maxRunning?: number;
  /** Number of items that may fail before the map does. The result of such an item is null. */
  tolerate?: { failures: number };
}

/** Options of a node that runs a workflow. Its nodes have policies of their own. */
export type SubWorkflowOptions = Pick<NodeOptions, (typeof NESTED_OPTIONS)[number]>;

interface BuiltNode {
  name: string;
  index: number;
  branches: readonly string[] | null;
}

const POLICIES = ["retryPolicy", "timeoutSec", "cancelGraceSec", "maxLost", "onWorkerLost"] as const;
const OPTIONS: readonly string[] = [
  ...POLICIES,
  ...[
    "priority",
    "concurrencyKey",
    "concurrencyLimit",
    "after",
    "join",
    "allowFailure",
    "branches",
    "pool",
    "requires",
  ],
];

/** Collects the nodes of a workflow while its function runs. */
export class WorkflowBuilder {
  readonly #workflow: string;
  readonly #defaults: NodePolicies & { pool?: string };
  readonly #nodes = new Map<string, BuiltNode>();
  readonly #requests: WorkflowNodeRequest[] = [];
  readonly #tasks = new Map<string, Task<never, unknown>>();
  readonly #ends = new NodeEnds();
  readonly #conditions = new WeakSet<NodeEnd>();
  #isBuilt = false;

  /** @param defaults values of the workflow for nodes */
  constructor(workflow: string, defaults: NodePolicies & { pool?: string } = {}) {
    this.#workflow = workflow;
    this.#defaults = defaults;
  }

  /**
   * Adds a node, which runs a task once the nodes have succeeded to which its payload refers.
   * @param name 1 to 64 characters of A-Z a-z 0-9 _ . -
   * @param payload input of the handler, with references in place of values that are not known yet
   * @returns a reference to the result
   * @throws {MainspringError} BAD_OPTION or INVALID_PAYLOAD
   */
  node<R, const B extends string = string>(
    name: string,
    task: Task<null, R, unknown> | Task<undefined, R, unknown>,
    payload?: null,
    options?: NodeOptions<B>,
  ): NodeRef<R, B>;
  node<P, R, const B extends string = string>(
    name: string,
    task: Task<P, R, unknown>,
    payload: WithRefs<NoInfer<P>>,
    options?: NodeOptions<B>,
  ): NodeRef<R, B>;
  /**
   * Adds a node that runs a whole workflow, with the options of that workflow that a node has: its times, priority and
   * concurrency key. Its labels do not count.
   * @param input input of the workflow; its schema does not check it
   * @returns a reference to the result of the workflow
   */
  node<I, R>(
    name: string,
    workflow: NestedWorkflow<I, R>,
    input: WithRefs<NoInfer<I>>,
    options?: SubWorkflowOptions,
  ): Ref<R>;
  node(name: string, work: NodeWork, payload?: unknown, options: NodeOptions = {}): NodeRef<unknown> {
    this.#checkWork(name, work, options);
    this.#add(name, work, payload, options);
    return refOf({ owner: this, from: name, path: [], isOptional: false }) as NodeRef<unknown>;
  }

  /**
   * Adds a map, which runs a task once for each item of a list.
   * @param items reference to a list
   * @param payload makes the payload of an item from a reference to it and one to its index, from 0; called once
   * @returns a reference to the list of results, in the order of the items
   * @throws {MainspringError} BAD_OPTION or INVALID_PAYLOAD
   */
  map<Item, P, R>(
    name: string,
    task: Task<P, R, unknown>,
    items: Reference<readonly Item[]>,
    payload: (item: Ref<Item>, index: Ref<number>) => WithRefs<NoInfer<P>>,
    options: MapOptions & { tolerate: { failures: number } },
  ): Ref<(R | null)[]>;
  map<Item, P, R>(
    name: string,
    task: Task<P, R, unknown>,
    items: Reference<readonly Item[]>,
    payload: (item: Ref<Item>, index: Ref<number>) => WithRefs<NoInfer<P>>,
    options?: MapOptions & { tolerate?: never },
  ): Ref<R[]>;
  map<Item, I, R>(
    name: string,
    workflow: NestedWorkflow<I, R>,
    items: Reference<readonly Item[]>,
    input: (item: Ref<Item>, index: Ref<number>) => WithRefs<NoInfer<I>>,
    options?: Omit<MapOptions, "tolerate"> & SubWorkflowOptions,
  ): Ref<R[]>;
  map(
    name: string,
    work: NodeWork,
    items: Reference<readonly unknown[]>,
    payload: (item: Ref<never>, index: Ref<number>) => unknown,
    { maxRunning, tolerate, ...options }: MapOptions = {},
  ): Ref<unknown[]> {
    this.#checkWork(name, work, options);
    const from = { owner: this, from: name, path: [], isOptional: false };
    const source = this.#facts(items, `map ${quoted(name)}: its items`);
    const template = payload(refOf({ ...from, kind: "ITEM" }), refOf({ ...from, kind: "INDEX" }));
    const limits = { ...(maxRunning !== undefined && { maxRunning }), ...(tolerate !== undefined && { tolerate }) };
    this.#add(name, work, template, options, { items: source, limits });
    return refOf({ ...from, kind: "RESULTS" });
  }

  #add(
    name: string,
    work: NodeWork,
    payload: unknown,
    options: NodeOptions,
    map?: { items: RefFacts; limits: object },
  ): void {
    const refs = new Map<string, RefFacts>();
    const take = (facts: RefFacts, path: string) => {
      this.#refuseStranger(facts, `node ${quoted(name)}: ${path}`, map === undefined ? undefined : name);
      const isOwn = facts.kind === "ITEM" || facts.kind === "INDEX";
      if (facts.from !== "$input" && !isOwn) refs.set(`${facts.from} ${facts.isOptional}`, facts);
    };
    const mapped = map === undefined ? {} : { map: templateOf(refOf(map.items), "map", take), ...map.limits };
    const template = templateOf(payload, "payload", take);
    const dependsOn = this.#dependencies(name, options, [...refs.values()]);
    this.#nodes.set(name, { name, index: this.#requests.length, branches: options.branches ?? null });
    for (const task of tasksOf(work)) this.#tasks.set(task.name, task);
    this.#requests.push({
      name,
      ...(isNested(work) ? nestedPart(work) : { target: this.#target(work, options) }),
      ...mapped,
      ...(template !== undefined && { payload: template }),
      ...(dependsOn.length > 0 && { dependsOn }),
      ...(options.join !== undefined && { join: options.join }),
      ...(options.allowFailure !== undefined && { allowFailure: options.allowFailure }),
      ...(isNested(work) ? nestedPolicies(work, options) : this.#policies(work, options)),
      ...(options.concurrencyKey !== undefined && { concurrencyKey: options.concurrencyKey }),
      ...(options.concurrencyLimit !== undefined && { concurrencyLimit: options.concurrencyLimit }),
    });
    this.#ends.add(
      dependsOn.map((dependency) => this.#edge(dependency)),
      options,
    );
  }

  /** For `after`: the node is DEAD. */
  failed(node: Reference<unknown>): NodeEnd {
    return this.#end(node, "FAILED");
  }

  /** For `after`: the node has ended in any way, or is SKIPPED. */
  finished(node: Reference<unknown>): NodeEnd {
    return this.#end(node, "FINISHED");
  }

  /** For `after`: the node has SUCCEEDED, and its handler has chosen this branch. */
  branch<B extends string>(node: { readonly [branches]: B }, name: NoInfer<B>): NodeEnd {
    const facts = this.#nodeFacts(node, "branch");
    const offered = this.#nodes.get(facts.from)?.branches ?? [name];
    if (!offered.includes(name))
      throw this.#bad(
        `node ${quoted(facts.from)} has no branch ${quoted(name)}, only ${offered.map(quoted).join(", ")}`,
      );
    if (!isBranchName(name)) throw this.#bad(`branch ${quoted(name)}: ${NAMES}`);
    return this.#end(node as unknown as Reference<unknown>, `BRANCH:${name}`);
  }

  /**
   * The same reference, whose value is null if its node has no result: because it was skipped, failed or was cancelled. The node that
   * refers to it waits for any end.
   */
  orNull<T>(ref: Reference<T>): Ref<T | null> {
    return refOf({ ...this.#facts(ref, "orNull"), isOptional: true });
  }

  /** Reference to a member of an object or an item of a list, where `ref.name` or `ref[0]` cannot be written. */
  at<T, K extends keyof NonNullable<T>>(ref: Reference<T>, key: K): Ref<Exclude<NonNullable<T>[K], undefined>> {
    return partOf(this.#facts(ref, "at"), key as string | number);
  }

  /**
   * Ends the workflow.
   * @param output return value of its function
   */
  build(output: unknown): { nodes: WorkflowNodeRequest[]; output?: unknown; tasks: Task<never, unknown>[] } {
    this.#isBuilt = true;
    if (this.#requests.length === 0) throw this.#bad("it has no node");
    if (output instanceof Promise)
      throw this.#bad("its function returns a promise: it only describes the nodes, so it must not be async");
    const template = templateOf(output, "output", (facts, path) => {
      this.#refuseStranger(facts, path);
      const node = this.#nodes.get(facts.from);
      if (node === undefined || facts.isOptional || this.#ends.succeeds(node.index)) return;
      const why = `${path}: the run can succeed although node ${quoted(node.name)} has no result`;
      throw this.#bad(`${why}: write orNull(…) for a value that may be null`);
    });
    const nodes = [...this.#requests];
    return { nodes, ...(template !== undefined && { output: template }), tasks: [...this.#tasks.values()] };
  }

  #checkWork(name: string, work: NodeWork, options: NodeOptions): void {
    for (const task of tasksOf(work)) this.#checkTask(name, task);
    this.#checkNode(name, options);
    const fault = isNested(work) ? nestedFault(work, options) : null;
    if (fault !== null) throw this.#bad(`node ${quoted(name)}: ${fault}`);
  }

  #checkNode(name: string, options: NodeOptions): void {
    const where = `node ${quoted(name)}`;
    if (this.#isBuilt) throw this.#bad(`${where}: the workflow is built, so it takes no more nodes`);
    if (!isBranchName(name)) throw this.#bad(`${where}: ${NAMES}`);
    if (this.#nodes.has(name)) throw this.#bad(`there are two nodes with the name ${quoted(name)}`);
    const unknown = Object.keys(options).find((option) => !OPTIONS.includes(option));
    if (unknown !== undefined)
      throw this.#bad(`${where}: there is no option ${unknown}; options are ${OPTIONS.join(", ")}`);
  }

  #checkTask(name: string, task: Task<never, unknown>): void {
    const other = this.#tasks.get(task.name);
    if (other === undefined || other === task) return;
    throw this.#bad(`node ${quoted(name)}: another node has a different task with the same name ${quoted(task.name)}`);
  }

  #dependencies(
    name: string,
    { after = [], join = "ALL" }: NodeOptions,
    refs: readonly RefFacts[],
  ): WorkflowDependency[] {
    const ends = after.map((end) => this.#endOf(end, `node ${quoted(name)}: after`));
    // A node to which the payload refers in both ways must have SUCCEEDED.
    for (const { from, isOptional } of [...refs].sort((one, other) => +one.isOptional - +other.isOptional)) {
      const wanted = ends.filter(({ node }) => node === from);
      if (wanted.length === 0 && join === "ALL") ends.push({ node: from, when: isOptional ? "FINISHED" : "SUCCEEDED" });
      else if (!isOptional) this.#checkResult(name, from, ends, join);
    }
    return ends.map(({ node, when }) => (when === "SUCCEEDED" ? node : { node, when }));
  }

  /** @throws {MainspringError} the node may run although the other one has no result, which its payload needs */
  #checkResult(name: string, from: string, ends: readonly NodeEnd[], join: "ALL" | "ANY"): void {
    const edges = ends.map((end) => this.#edge(end));
    const index = this.#nodes.get(from)?.index ?? -1;
    if (this.#ends.areAfterSuccess(index, edges, join)) return;
    const why = `node ${quoted(name)} may run although node ${quoted(from)} has no result`;
    throw this.#bad(`${why}: write orNull(…) for a value of its payload that may be null`);
  }

  #edge(dependency: WorkflowDependency): { node: number; when: string } {
    const { node, when = "SUCCEEDED" } = typeof dependency === "string" ? { node: dependency } : dependency;
    return { node: (this.#nodes.get(node) as BuiltNode).index, when };
  }

  #endOf(end: Reference<unknown> | NodeEnd, place: string): NodeEnd {
    if (factsOf(end) !== null) return { node: this.#nodeFacts(end, place).from, when: "SUCCEEDED" };
    if (this.#conditions.has(end as NodeEnd)) return end as NodeEnd;
    throw this.#bad(`${place}: takes nodes of this workflow, and what failed(…), finished(…) and branch(…) return`);
  }

  #end(node: Reference<unknown>, when: string): NodeEnd {
    const end = Object.freeze({ node: this.#nodeFacts(node, "a condition").from, when });
    this.#conditions.add(end);
    return end;
  }

  /** @throws {MainspringError} it is no whole node of this workflow */
  #nodeFacts(node: unknown, place: string): RefFacts {
    const facts = this.#facts(node, place);
    if (facts.from === "$input" || facts.path.length > 0)
      throw this.#bad(`${place}: takes a node, not ${[facts.from, ...facts.path].join(".")}`);
    return facts;
  }

  #facts(ref: unknown, place: string): RefFacts {
    const facts = factsOf(ref);
    if (facts === null) throw this.#bad(`${place}: takes a reference, as \`node\` returns it`);
    this.#refuseStranger(facts, place);
    return facts;
  }

  /** @param map name of the map whose payload has the reference */
  #refuseStranger({ owner, from, kind }: RefFacts, place: string, map?: string): void {
    const what = from === "$input" ? "the input" : `node ${quoted(from)}`;
    if (owner !== this)
      throw this.#bad(
        `${place}: refers to ${what} of another workflow, ${quoted((owner as WorkflowBuilder).#workflow)}`,
      );
    if ((kind === "ITEM" || kind === "INDEX") && from !== map)
      throw this.#bad(`${place}: refers to an item of the map ${quoted(from)}, outside of the payload of that map`);
  }

  #target(task: Task<never, unknown>, { pool, requires }: NodeOptions): WorkflowTarget {
    const home = pool ?? (this.#defaults.pool === undefined ? task.pool : undefined);
    return { handler: task.name, ...(home !== undefined && { pool: home }), ...(requires && { requires }) };
  }

  /** The node's own policies, else the task's where the workflow has none: they hold before a worker has declared them. */
  #policies(task: Task<never, unknown>, options: NodeOptions): NodePolicies {
    const declared = JSON.parse(task.policies ?? "{}") as NodePolicies;
    const policies: Record<string, unknown> = {};
    for (const name of POLICIES) {
      const value = options[name] ?? (this.#defaults[name] === undefined ? declared[name] : undefined);
      if (value !== undefined) policies[name] = value;
    }
    if (options.priority !== undefined) policies["priority"] = options.priority;
    return policies;
  }

  #bad(message: string): MainspringError {
    return new MainspringError("BAD_OPTION", `workflow ${quoted(this.#workflow)}: ${message}`);
  }
}

const NAMES = "a name has 1 to 64 characters of A-Z a-z 0-9 _ . -";

function quoted(name: string): string {
  return JSON.stringify(name) ?? String(name);
}
