// Asks the compiler about our sources: what a text can be, which calls there are.
import * as path from 'node:path'
import {
  type CallExpression,
  type ConditionalExpression,
  type Expression,
  type Node,
  type NoSubstitutionTemplateLiteral,
  type ObjectLiteralExpression,
  type ParameterDeclaration,
  type PropertyAssignment,
  SyntaxKind,
  type TemplateExpression,
  type VariableDeclaration,
} from 'typescript/unstable/ast'
import { API, type Checker, type Project, type Type } from 'typescript/unstable/sync'

export const ROOT = path.resolve(import.meta.dirname, '../..')

/** Opens the project, once: it takes about two seconds. @throws Error when the compiler cannot read it */
export function inProject<T>(read: (project: Project) => T): T {
  const config = path.join(ROOT, 'tsconfig.json')
  const api = new API({ cwd: ROOT })
  try {
    const project = api.updateSnapshot({ openProject: config }).getProject(config)
    if (!project) throw new Error(`the compiler does not know ${config}`)
    return read(project)
  } finally {
    api.close()
  }
}

export function typeOf(checker: Checker, of: Type, name: string): Type | undefined {
  const symbol = checker.getPropertyOfType(of, name)
  return symbol && checker.getTypeOfSymbol(symbol)
}

/** The texts a type stands for; undefined when it may be any text. */
export function literalsOf(type: Type | undefined): string[] | undefined {
  const each = type?.isUnionType() ? type.getTypes() : type ? [type] : []
  const texts = each.flatMap((one) => (one.isStringLiteralType() ? [one.value] : []))
  return texts.length === each.length && texts.length > 0 ? texts : undefined
}

/**
 * Every text an expression can be, a template with each of its parts. A parameter is what the calls of its function in
 * the same file give it; `<...>` stands for what cannot be known.
 */
export function textsOf(checker: Checker, node: Expression): string[] {
  if (node.kind === SyntaxKind.StringLiteral || node.kind === SyntaxKind.NoSubstitutionTemplateLiteral)
    return [(node as NoSubstitutionTemplateLiteral).text]
  if (node.kind === SyntaxKind.NumericLiteral) return [node.getText()]
  if (node.kind === SyntaxKind.TemplateExpression) {
    const { head, templateSpans } = node as TemplateExpression
    return templateSpans.reduce<string[]>(
      (starts, { expression, literal }) =>
        textsOf(checker, expression).flatMap((part) => starts.map((start) => `${start}${part}${literal.text}`)),
      [head.text],
    )
  }
  if (node.kind === SyntaxKind.ConditionalExpression) {
    const { whenFalse, whenTrue } = node as ConditionalExpression
    return [whenTrue, whenFalse].flatMap((either) => textsOf(checker, either))
  }
  const known =
    literalsOf(checker.getTypeAtLocation(node)) ??
    constantsOf(node) ??
    givenTo(node)?.flatMap((arg) => textsOf(checker, arg))
  return known ?? [`<${node.getText()}>`]
}

/** Texts of the constants with this name in the same file. */
function constantsOf(node: Expression): string[] | undefined {
  const name = (node as { text?: string }).text
  if (node.kind !== SyntaxKind.Identifier || !name) return undefined
  const texts = [...nodesIn(node.getSourceFile())].flatMap((each) => {
    if (each.kind !== SyntaxKind.VariableDeclaration) return []
    const { initializer, name: own } = each as VariableDeclaration
    if ((own as { text?: string }).text !== name || initializer?.kind !== SyntaxKind.StringLiteral) return []
    return [(initializer as NoSubstitutionTemplateLiteral).text]
  })
  return texts.length > 0 ? texts : undefined
}

/** What the calls of a function give its parameter `node`; undefined for anything else. */
function givenTo(node: Expression): Expression[] | undefined {
  const name = (node as { text?: string }).text
  if (node.kind !== SyntaxKind.Identifier || !name) return undefined
  for (let at = node.parent; at; at = at.parent) {
    const { parameters } = at as { parameters?: readonly ParameterDeclaration[] }
    const place = parameters?.findIndex((p) => (p.name as { text?: string }).text === name) ?? -1
    if (place < 0) continue
    const named = (at as { name?: { text?: string } }).name ?? (at.parent as { name?: { text?: string } }).name
    if (!named?.text) return undefined
    const fallback = parameters?.[place]?.initializer
    const calls = [...callsOf(node.getSourceFile(), new Set([named.text]))]
    const given = calls.flatMap((call) => call.arguments[place] ?? fallback ?? [])
    return given.length > 0 ? given : undefined
  }
}

/** Every node below `node`, itself first. */
export function* nodesIn(node: Node | undefined): Generator<Node> {
  if (!node) return
  yield node
  const children: Node[] = []
  node.forEachChild((child) => void children.push(child))
  for (const child of children) yield* nodesIn(child)
}

/** Calls and `new` of a function or class with this name. */
export function* callsOf(node: Node | undefined, names: ReadonlySet<string>): Generator<CallExpression> {
  for (const each of nodesIn(node)) {
    if (each.kind !== SyntaxKind.CallExpression && each.kind !== SyntaxKind.NewExpression) continue
    const call = each as CallExpression
    if (names.has((call.expression as { text?: string }).text ?? '')) yield call
  }
}

/** The value of a member of an object literal; a shorthand is its own. */
export function memberOf(object: ObjectLiteralExpression, name: string): Expression | undefined {
  for (const property of object.properties) {
    if (((property as { name?: unknown }).name as { text?: string } | undefined)?.text !== name) continue
    if (property.kind === SyntaxKind.PropertyAssignment) return (property as PropertyAssignment).initializer
    if (property.kind === SyntaxKind.ShorthandPropertyAssignment) return property.name as Expression
  }
}

/** Every source of `folder`, with its path below the project's root. */
export const sourcesOf = (project: Project, folder: string): { file: string; source: Node }[] =>
  project.program
    .getSourceFileNames()
    .filter((file) => file.startsWith(`${ROOT}/${folder}/`))
    .sort()
    .flatMap((file) => {
      const source = project.program.getSourceFile(file)
      return source ? [{ file: path.relative(ROOT, file), source }] : []
    })
