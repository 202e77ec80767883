import ts from "typescript";
import type { Declaration, SdkSources } from "./sdk-sources.ts";

export type Member = ts.ClassElement | ts.TypeElement;
export type Field = ts.PropertyDeclaration | ts.PropertySignature | ts.GetAccessorDeclaration | ts.MethodSignature;
export type Method = ts.MethodDeclaration | ts.MethodSignature | ts.ConstructorDeclaration;

/** Members of a class or interface that programs see, and the types that it extends. */
export interface Shape {
  fields: Field[];
  /** Overloads of one method have one entry. */
  methods: Map<string, Method[]>;
  bases: ts.ExpressionWithTypeArguments[];
}

/**
 * Shape of a class or interface, with the members of each base that has no heading of its own.
 * @param hasHeading whether the page describes a declaration under its own heading
 */
export function shapeOf(
  node: ts.ClassDeclaration | ts.InterfaceDeclaration,
  sources: SdkSources,
  hasHeading: (declaration: Declaration) => boolean,
): Shape {
  const shape: Shape = { fields: [], methods: new Map(), bases: [] };
  for (const clause of node.heritageClauses ?? []) {
    for (const base of clause.types) {
      const hidden = sources.namedIn(base)[0]?.declarations.find((found) => isPlain(base, found) && !hasHeading(found));
      if (hidden !== undefined && ts.isInterfaceDeclaration(hidden)) merge(shape, shapeOf(hidden, sources, hasHeading));
      else shape.bases.push(base);
    }
  }
  for (const member of node.members) addMember(shape, member);
  return shape;
}

/** Whether a base is the declaration itself and not a type that is computed from it, such as `Partial<Base>`. */
function isPlain(base: ts.ExpressionWithTypeArguments, declaration: Declaration): boolean {
  return base.expression.getText() === declaration.name?.getText();
}

function merge(shape: Shape, other: Shape): void {
  shape.fields.push(...other.fields);
  shape.bases.push(...other.bases);
  for (const [name, methods] of other.methods) shape.methods.set(name, methods);
}

function addMember(shape: Shape, member: Member): void {
  if (isHidden(member)) return;
  if (isField(member)) shape.fields.push(member);
  else if (isMethod(member)) {
    const name = ts.isConstructorDeclaration(member) ? "constructor" : member.name.getText();
    shape.methods.set(name, [...(shape.methods.get(name) ?? []), member]);
  }
}

function isHidden({ name }: Member): boolean {
  return name !== undefined && ts.isPrivateIdentifier(name);
}

function isField(member: Member): member is Field {
  if (ts.isMethodSignature(member)) return member.questionToken !== undefined;
  return ts.isPropertyDeclaration(member) || ts.isPropertySignature(member) || ts.isGetAccessorDeclaration(member);
}

function isMethod(member: Member): member is Method {
  return ts.isMethodDeclaration(member) || ts.isMethodSignature(member) || ts.isConstructorDeclaration(member);
}

/** Overloads without the implementation, which programs do not see; a single signature is its own implementation. */
export function visible<T extends ts.SignatureDeclaration & { body?: ts.Node | undefined }>(
  overloads: readonly T[],
): T[] {
  return overloads.length > 1 ? overloads.filter(({ body }) => body === undefined) : [...overloads];
}
