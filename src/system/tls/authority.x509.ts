// X.509 certificates (RFC 5280), ECDSA P-256: the library encodes and decodes, the runtime makes keys and signs.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import * as asn from '@peculiar/asn1-x509'
import type { Host, Permitted } from './names.ts'

/** Certificate and private key (PKCS #8), both PEM. */
export interface Pair {
  cert: string
  key: string
}

/** Unix ms; certificates hold whole seconds. */
export interface Span {
  from: number
  until: number
}

const SIGNED_WITH = () => new asn.AlgorithmIdentifier({ algorithm: '1.2.840.10045.4.3.2' }) // ecdsa-with-SHA256
const COMMON_NAME = '2.5.4.3'

const nameOf = (text: string): asn.Name =>
  new asn.Name([
    new asn.RelativeDistinguishedName([
      new asn.AttributeTypeAndValue({ type: COMMON_NAME, value: new asn.AttributeValue({ utf8String: text }) }),
    ]),
  ])

const extension = (extnID: string, critical: boolean, value: unknown): asn.Extension =>
  new asn.Extension({ critical, extnID, extnValue: new OctetString(AsnConvert.serialize(value)) })

const spkiOf = (key: KeyObject): Buffer => createPublicKey(key).export({ format: 'der', type: 'spki' })

/** 160 bits of SHA-256 over the public key (RFC 7093, method 1). */
function keyId(key: KeyObject): ArrayBuffer {
  const { subjectPublicKey } = AsnConvert.parse(spkiOf(key), asn.SubjectPublicKeyInfo)
  return bytes(createHash('sha256').update(Buffer.from(subjectPublicKey)).digest().subarray(0, 20))
}

const bytes = (from: Uint8Array): ArrayBuffer => new Uint8Array(from).buffer

const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
const keyPem = (key: KeyObject): string => key.export({ format: 'pem', type: 'pkcs8' }).toString()

interface Draft {
  extensions: asn.Extension[]
  issuer: { key: KeyObject; name: asn.Name }
  key: KeyObject
  span: Span
  subject: asn.Name
}

/** A signed certificate, PEM. */
function signed({ extensions, issuer, key, span, subject }: Draft): string {
  const tbsCertificate = new asn.TBSCertificate({
    extensions: new asn.Extensions([
      ...extensions,
      extension(asn.id_ce_subjectKeyIdentifier, false, new asn.SubjectKeyIdentifier(keyId(key))),
      extension(
        asn.id_ce_authorityKeyIdentifier,
        false,
        new asn.AuthorityKeyIdentifier({ keyIdentifier: new asn.KeyIdentifier(keyId(issuer.key)) }),
      ),
    ]),
    issuer: issuer.name,
    // The first byte keeps it positive and without leading zeros.
    serialNumber: bytes(Uint8Array.of(0x40, ...randomBytes(15))),
    signature: SIGNED_WITH(),
    subject,
    subjectPublicKeyInfo: AsnConvert.parse(spkiOf(key), asn.SubjectPublicKeyInfo),
    validity: new asn.Validity({ notAfter: new Date(span.until), notBefore: new Date(span.from) }),
    version: asn.Version.v3,
  })
  const signatureValue = bytes(sign('sha256', new Uint8Array(AsnConvert.serialize(tbsCertificate)), issuer.key))
  const whole = new asn.Certificate({ signatureAlgorithm: SIGNED_WITH(), signatureValue, tbsCertificate })
  return new X509Certificate(new Uint8Array(AsnConvert.serialize(whole))).toString()
}

/** A certificate authority limited to these names; it may not sign further authorities. */
export function makeAuthority(name: string, permitted: Permitted, span: Span): Pair {
  const key = newKey()
  const subject = nameOf(name)
  const bases = [
    ...permitted.dns.map((dNSName) => new asn.GeneralName({ dNSName })),
    ...permitted.ip.map((iPAddress) => new asn.GeneralName({ iPAddress })),
  ]
  const subtrees = new asn.GeneralSubtrees(bases.map((base) => new asn.GeneralSubtree({ base })))
  const cert = signed({
    extensions: [
      extension(asn.id_ce_basicConstraints, true, new asn.BasicConstraints({ cA: true, pathLenConstraint: 0 })),
      extension(asn.id_ce_keyUsage, true, new asn.KeyUsage(asn.KeyUsageFlags.keyCertSign | asn.KeyUsageFlags.cRLSign)),
      extension(asn.id_ce_nameConstraints, true, new asn.NameConstraints({ permittedSubtrees: subtrees })),
    ],
    issuer: { key, name: subject },
    key,
    span,
    subject,
  })
  return { cert, key: keyPem(key) }
}

interface LeafWish {
  /** A server's names; empty for a client. */
  hosts: readonly Host[]
  /** Kept across a renewal; a new one is made when absent. */
  key?: string | undefined
  name: string
  span: Span
}

/** Signs a certificate for a server (with hosts) or a client (without). */
export function issue(authority: Pair, { hosts, key: kept, name, span }: LeafWish): Pair {
  const key = kept === undefined ? newKey() : createPrivateKey(kept)
  const names = hosts.map(
    ({ kind, name }) => new asn.GeneralName(kind === 'ip' ? { iPAddress: name } : { dNSName: name }),
  )
  const purpose = names.length > 0 ? asn.id_kp_serverAuth : asn.id_kp_clientAuth
  const cert = signed({
    extensions: [
      extension(asn.id_ce_basicConstraints, true, new asn.BasicConstraints()),
      extension(asn.id_ce_keyUsage, true, new asn.KeyUsage(asn.KeyUsageFlags.digitalSignature)),
      extension(asn.id_ce_extKeyUsage, false, new asn.ExtendedKeyUsage([purpose])),
      ...(names.length > 0 ? [extension(asn.id_ce_subjectAltName, false, new asn.SubjectAlternativeName(names))] : []),
    ],
    issuer: { key: createPrivateKey(authority.key), name: parsed(authority.cert).tbsCertificate.subject },
    key,
    span,
    subject: nameOf(name),
  })
  return { cert, key: keyPem(key) }
}

const parsed = (cert: string): asn.Certificate => AsnConvert.parse(new X509Certificate(cert).raw, asn.Certificate)

/** The limits of an authority; undefined when it has none. */
export function permittedBy(cert: string): Permitted | undefined {
  const found = parsed(cert).tbsCertificate.extensions?.find(({ extnID }) => extnID === asn.id_ce_nameConstraints)
  if (!found) return undefined
  const { permittedSubtrees } = AsnConvert.parse(found.extnValue.buffer, asn.NameConstraints)
  const bases = [...(permittedSubtrees ?? [])].map(({ base }) => base)
  return {
    dns: bases.flatMap(({ dNSName }) => dNSName ?? []),
    ip: bases.flatMap(({ iPAddress }) => iPAddress ?? []),
  }
}
