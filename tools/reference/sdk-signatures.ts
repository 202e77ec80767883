import ts from "typescript";

/** Text of a node in one line. */
export function textOf(node: ts.Node): string {
  const text = ts
    .createPrinter({ removeComments: true })
    .printNode(ts.EmitHint.Unspecified, node, node.getSourceFile());
  return text.replaceAll(/\s*\n\s*/g, " ");
}

/** Signature of a function or method as a declaration: without its body, and with `?` for a parameter that has a default. */
export function signatureText(name: string, node: ts.SignatureDeclaration): string {
  const result = node.type === undefined ? "" : `: ${textOf(node.type)}`;
  return `${name}${typeParametersText(node)}(${parametersText(node)})${result}`;
}

/** Type of an optional method, as that of a field. */
export function functionType(node: ts.SignatureDeclaration): string {
  const result = node.type === undefined ? "void" : textOf(node.type);
  return `${typeParametersText(node)}(${parametersText(node)}) => ${result}`;
}

export function typeParametersText({ typeParameters }: { typeParameters?: ts.NodeArray<ts.Node> | undefined }): string {
  return typeParameters === undefined ? "" : `<${typeParameters.map(textOf).join(", ")}>`;
}

function parametersText({ parameters }: ts.SignatureDeclaration): string {
  return parameters.map(parameterText).join(", ");
}

function parameterText(parameter: ts.ParameterDeclaration): string {
  const { name, initializer, questionToken, dotDotDotToken, type } = parameter;
  const isOptional = initializer !== undefined || questionToken !== undefined;
  const text = ts.isIdentifier(name) ? name.text : "options";
  const rest = dotDotDotToken === undefined ? "" : "...";
  return `${rest}${text}${isOptional ? "?" : ""}: ${type === undefined ? "unknown" : textOf(type)}`;
}

/** Type of a field or property: as declared, else its value. */
export function fieldType(field: ts.PropertyDeclaration | ts.PropertySignature): string {
  if (field.type !== undefined) return textOf(field.type);
  const value = ts.isPropertyDeclaration(field) ? field.initializer : undefined;
  return value === undefined ? "unknown" : textOf(value);
}
