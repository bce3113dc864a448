// Types of answers as JSON schemas, for openapi.json: what the compiler knows, as it looks once it is JSON.
import { type Node, SyntaxKind } from 'typescript/unstable/ast'
import {
  type Checker,
  type Project,
  type Symbol as Sym,
  SymbolFlags,
  type Type,
  TypeFlags,
} from 'typescript/unstable/sync'
import { ROOT } from './compiler.ts'

export type Json = Record<string, unknown>

const NOTHING = TypeFlags.Undefined | TypeFlags.Void | TypeFlags.Never
const SIMPLE: [flags: number, schema: Json][] = [
  [TypeFlags.Null, { type: 'null' }],
  [TypeFlags.String | TypeFlags.TemplateLiteral | TypeFlags.StringMapping, { type: 'string' }],
  [TypeFlags.Number, { type: 'number' }],
  [TypeFlags.Boolean, { type: 'boolean' }],
]

/** Whether a value of this type may be absent. */
export const isOptional = (type: Type): boolean =>
  (type.flags & NOTHING) !== 0 || (type.isUnionType() && type.getTypes().some((one) => (one.flags & NOTHING) !== 0))

/** Makes schemas; types with a name of ours become `components`, each once. */
export class Schemas {
  readonly components: Record<string, Json> = {}
  readonly #checker: Checker
  readonly #names = new Map<string, number>()
  readonly #project: Project

  constructor(project: Project) {
    this.#checker = project.checker
    this.#project = project
  }

  /** Of a value that is there: `undefined` is left out. @throws Error for two types of one name */
  of(type: Type): Json {
    const named = this.#named(type)
    if (!named) return this.#plain(type)
    const { id, name } = named
    const before = this.#names.get(name)
    if (before !== undefined && before !== id) throw new Error(`two types that routes answer with are named ${name}`)
    if (before === undefined) {
      this.#names.set(name, id)
      this.components[name] = this.#plain(type)
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  /** The name of a type that is declared in our sources and stands for this type alone. */
  #named(type: Type): { id: number; name: string } | undefined {
    if (type.getAliasTypeArguments().length > 0) return undefined
    for (const symbol of [type.getAliasSymbol(), type.getSymbol()])
      if (symbol && this.#isOurs(symbol)) return { id: symbol.id, name: symbol.name }
    return undefined
  }

  #isOurs(symbol: Sym): boolean {
    const node: Node | undefined = symbol.declarations[0]?.resolve(this.#project)
    if (!node?.getSourceFile().fileName.startsWith(`${ROOT}/src/`)) return false
    const generic = ((node as { typeParameters?: readonly unknown[] }).typeParameters?.length ?? 0) > 0
    return !generic && (node.kind === SyntaxKind.InterfaceDeclaration || node.kind === SyntaxKind.TypeAliasDeclaration)
  }

  #plain(type: Type): Json {
    if (type.isUnionType()) return this.#union(type.getTypes())
    if (type.isStringLiteralType() || type.isNumberLiteralType() || type.isBooleanLiteralType())
      return { const: type.value }
    for (const [flags, schema] of SIMPLE) if ((type.flags & flags) !== 0) return { ...schema }
    // An intersection of a text with a brand is a text.
    if (type.isIntersectionType()) {
      const text = type.getTypes().find((one) => (one.flags & TypeFlags.StringLike) !== 0)
      return text ? this.#plain(text) : this.#object(type)
    }
    return type.isObjectType() ? this.#structure(type) : {}
  }

  #union(types: readonly Type[]): Json {
    const there = types.filter((one) => (one.flags & NOTHING) === 0)
    const each = unique(there.map((one) => this.of(one)))
    const constants = each.filter((schema) => 'const' in schema)
    const rest = each.filter((schema) => !('const' in schema))
    if (constants.length > 0) rest.unshift(oneOf(constants.map((schema) => schema.const)))
    return rest.length === 1 ? (rest[0] as Json) : { anyOf: rest }
  }

  #structure(type: Type): Json {
    const checker = this.#checker
    if (checker.isArrayLikeType(type)) {
      const items = (type.isTypeReference() ? checker.getTypeArguments(type) : []).map((one) => this.of(one))
      const each = unique(items)
      return { type: 'array', items: each.length === 1 ? (each[0] as Json) : { anyOf: each } }
    }
    return this.#object(type)
  }

  #object(type: Type): Json {
    const checker = this.#checker
    const properties: Record<string, Json> = {}
    const required: string[] = []
    for (const member of checker.getPropertiesOfType(type)) {
      const of = checker.getTypeOfSymbol(member)
      if (!of) continue
      const words = member.getDocumentationComment(checker).replaceAll(/\s+/g, ' ')
      properties[member.name] = { ...this.of(of), ...(words ? { description: words } : {}) }
      if ((member.flags & SymbolFlags.Optional) === 0 && !isOptional(of)) required.push(member.name)
    }
    const others = checker.getIndexInfosOfType(type).map((info) => this.of(info.valueType))
    return {
      type: 'object',
      ...(Object.keys(properties).length > 0 ? { properties } : {}),
      ...(required.length > 0 ? { required } : {}),
      ...(others[0] ? { additionalProperties: others[0] } : {}),
    }
  }
}

/** Both truth values are a boolean, several constants of one type an enumeration. */
function oneOf(values: unknown[]): Json {
  if (values.length === 2 && values.includes(true) && values.includes(false)) return { type: 'boolean' }
  if (values.length === 1) return { const: values[0] }
  const types = new Set(values.map((value) => typeof value))
  return { ...(types.size === 1 ? { type: [...types][0] } : {}), enum: values.toSorted() }
}

/** Each schema once. */
export const unique = (schemas: readonly Json[]): Json[] => [
  ...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values(),
]
