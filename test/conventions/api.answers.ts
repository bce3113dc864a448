// What every route answers, read from the types of the records by the compiler: nothing is written down a second time.
import { type Node, type ObjectLiteralExpression, SyntaxKind } from 'typescript/unstable/ast'
import {
  type Checker,
  NodeBuilderFlags,
  type Project,
  SignatureKind,
  type Symbol as Sym,
  SymbolFlags,
  type Type,
  TypeFlags,
} from 'typescript/unstable/sync'
import { isOptional, type Json, Schemas, unique } from './api.schemas.ts'
import { callsOf, literalsOf, ROOT, sourcesOf, typeOf } from './compiler.ts'

export interface Answers {
  /** JSON schemas of the named types. */
  components: Record<string, Json>
  /** By `METHOD /path auth`, as the records have them: the members of the answer, `data` and what stands beside it. */
  routes: Map<string, string[]>
  /** By the same keys: the answer as a JSON schema; undefined where the compiler cannot tell. */
  schemas: Map<string, Json | undefined>
  /** Declarations of the named types in those answers, by name. */
  types: Map<string, string>
}

const AS_TEXT =
  NodeBuilderFlags.NoTruncation |
  NodeBuilderFlags.UseAliasDefinedOutsideCurrentScope |
  NodeBuilderFlags.UseSingleQuotesForStringLiteralType
const MAKERS = new Set(['route', 'flow', 'stream'])

/** What `project` says; it is opened with `inProject`. */
export function answersOf(project: Project): Answers {
  const schemas = new Schemas(project)
  const answers: Answers = { components: schemas.components, routes: new Map(), schemas: new Map(), types: new Map() }
  const types = new Declared(project, answers.types)
  for (const record of sourcesOf(project, 'src/controller').flatMap(({ source }) => recordsIn(source))) {
    const members = membersOf(project.checker, record)
    const answered = textsOf(project.checker, types, record, members)
    for (const key of keysOf(project.checker, record)) {
      answers.routes.set(key, answered)
      answers.schemas.set(key, schemaOf(schemas, members))
    }
  }
  return answers
}

/** A member of an answer, with each type it may have; not `always` where some answers lack it. */
interface Member {
  always: boolean
  name: string
  types: Type[]
}

function schemaOf(schemas: Schemas, members: readonly Member[]): Json | undefined {
  if (members.length === 0) return undefined
  const properties = members.map(({ name, types }) => {
    const each = unique(types.filter((type) => !isNothing(type)).map((type) => schemas.of(type)))
    return [name, each.length === 1 ? each[0] : { anyOf: each }] as const
  })
  const required = members.filter(({ always, types }) => always && !types.some(isOptional))
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 ? { required: required.map(({ name }) => name) } : {}),
  }
}
const isNothing = (type: Type): boolean => (type.flags & (TypeFlags.Undefined | TypeFlags.Void)) !== 0

/** The object given to each call of a maker of records. */
const recordsIn = (source: Node): ObjectLiteralExpression[] =>
  [...callsOf(source, MAKERS)].flatMap(({ arguments: [record] }) =>
    record?.kind === SyntaxKind.ObjectLiteralExpression ? [record as ObjectLiteralExpression] : [],
  )

/** One record may stand for several paths. */
function keysOf(checker: Checker, record: ObjectLiteralExpression): string[] {
  const type = checker.getTypeAtLocation(record)
  const words = (name: string): string[] => literalsOf(type && typeOf(checker, type, name)) ?? []
  return words('method').flatMap((method) =>
    words('path').flatMap((at) => words('auth').map((auth) => `${method} ${at} ${auth}`)),
  )
}

/** What every kind of answer of a record has. */
function membersOf(checker: Checker, record: ObjectLiteralExpression): Member[] {
  const type = checker.getTypeAtLocation(record)
  const run = type && typeOf(checker, type, 'run')
  const [signature] = run ? checker.getSignaturesOfType(run, SignatureKind.Call) : []
  const made = signature && checker.getReturnTypeOfSignature(signature)
  const found = new Map<string, { sure: number; types: Type[] }>()
  const done = made ? alternatives(checker, made) : []
  let answers = 0
  const add = (name: string, of: Type | undefined, sure = true): void => {
    const { sure: before, types } = found.get(name) ?? { sure: 0, types: [] }
    if (of) found.set(name, { sure: before + Number(sure), types: [...types, of] })
  }
  const addAll = (of: Type, sure = true): void => {
    for (const symbol of checker.getPropertiesOfType(of)) add(symbol.name, checker.getTypeOfSymbol(symbol), sure)
  }
  for (const one of done) {
    const response = typeOf(checker, one, 'response')
    const held = alternatives(checker, response && typeOf(checker, response, 'holds'))
    for (const content of held) addAll(content)
    answers += held.length || 1
    add('data', typeOf(checker, one, 'data'))
    const beside = typeOf(checker, one, 'beside')
    for (const more of alternatives(checker, beside)) addAll(more, !beside || !isOptional(beside))
  }
  return [...found].map(([name, { sure, types }]) => ({ always: sure >= answers, name, types }))
}

function textsOf(checker: Checker, types: Declared, record: ObjectLiteralExpression, members: Member[]): string[] {
  return members.map(({ name, types: each }) => {
    for (const type of each) types.note(type)
    const texts = new Set(each.map((type) => textOf(checker, type, record)))
    return plain(`${name}: ${[...texts].join(' | ')}`)
  })
}

/** The members of a union, of what a promise gives; nothing else. */
function alternatives(checker: Checker, type: Type | undefined): Type[] {
  if (!type) return []
  if (type.isUnionType()) return type.getTypes().flatMap((one) => alternatives(checker, one))
  if (type.isTypeReference() && type.getSymbol()?.name === 'Promise')
    return checker.getTypeArguments(type).flatMap((one) => alternatives(checker, one))
  return type.isObjectType() ? [type] : []
}

/** Collects the declarations of named types, those within them too. */
class Declared {
  readonly #checker: Checker
  readonly #found: Map<string, string>
  readonly #project: Project
  readonly #named = new Set<number>()
  readonly #seen = new Set<number>()

  constructor(project: Project, found: Map<string, string>) {
    this.#checker = project.checker
    this.#found = found
    this.#project = project
  }

  note(type: Type): void {
    if (this.#seen.has(type.id)) return
    this.#seen.add(type.id)
    for (const symbol of [type.getAliasSymbol(), type.getSymbol()]) {
      const node = symbol?.declarations[0]?.resolve(this.#project)
      const ours = node?.getSourceFile().fileName.startsWith(`${ROOT}/src/`)
      const named = node?.kind === SyntaxKind.InterfaceDeclaration || node?.kind === SyntaxKind.TypeAliasDeclaration
      if (symbol && node && ours && named && !this.#named.has(symbol.id)) {
        this.#named.add(symbol.id)
        this.#add(symbol.name, node, symbol)
      }
    }
    for (const inner of type.getAliasTypeArguments()) this.note(inner)
    if (type.isUnionType() || type.isIntersectionType()) for (const one of type.getTypes()) this.note(one)
    else if (type.isObjectType()) this.#within(type)
  }

  #within(type: Type): void {
    if (type.isTypeReference()) for (const one of this.#checker.getTypeArguments(type)) this.note(one)
    if (this.#checker.isArrayLikeType(type)) return
    for (const info of this.#checker.getIndexInfosOfType(type)) this.note(info.valueType)
    for (const member of this.#checker.getPropertiesOfType(type)) {
      const of = this.#checker.getTypeOfSymbol(member)
      if (of) this.note(of)
    }
  }

  /** @throws Error for a second type of that name: a reader could not tell which one is meant */
  #add(name: string, node: Node, symbol: Sym): void {
    const type = this.#checker.getDeclaredTypeOfSymbol(symbol)
    this.note(type)
    const text = type.isObjectType()
      ? this.#members(name, type, node)
      : `type ${name} = ${textOf(this.#checker, type, node, NodeBuilderFlags.InTypeAlias)}`
    const before = this.#found.get(name)
    if (before !== undefined && before !== text)
      throw new Error(`two types that routes answer with are named ${name}: give the new one another name`)
    this.#found.set(name, text)
  }

  #members(name: string, type: Type, node: Node): string {
    const checker = this.#checker
    const lines = checker.getPropertiesOfType(type).flatMap((member) => {
      const of = checker.getTypeOfSymbol(member)
      const whole = of ? textOf(checker, of, node) : 'unknown'
      const text = whole.replace(/ \| undefined$/, '').replaceAll('\n', '\n  ')
      const optional = (member.flags & SymbolFlags.Optional) !== 0 || whole.endsWith(' | undefined')
      const words = member.getDocumentationComment(checker).replaceAll(/\s+/g, ' ')
      const line = `  ${member.name}${optional ? '?' : ''}: ${text}`
      return words ? [`  /** ${words} */`, line] : [line]
    })
    const others = checker
      .getIndexInfosOfType(type)
      .map((info) => `  [key: string]: ${textOf(checker, info.valueType, node)}`)
    return [`interface ${name} {`, ...lines, ...others, '}'].join('\n')
  }
}

const LONG = 100

/** On one line where it fits. */
function textOf(checker: Checker, type: Type, at: Node, more = 0): string {
  const line = checker.typeToString(type, at, AS_TEXT | more)
  if (line.length <= LONG) return plain(line.replaceAll('; }', ' }'))
  const lines = checker.typeToString(type, at, AS_TEXT | more | NodeBuilderFlags.MultilineObjectLiterals)
  return plain(lines.replaceAll(/^ +/gm, (indent) => ' '.repeat(indent.length / 2)).replaceAll(/;$/gm, ''))
}

/** What is undefined is not sent: a field that may be is one that may be absent. */
const plain = (text: string): string =>
  text
    .replaceAll(/(\w+)\??: ([^;?\n]*?) \| undefined(?=;|$| \})/gm, '$1?: $2')
    .replaceAll(/^( *\}[)[\]]*) \| undefined$/gm, '$1')
