/** What the controller itself asks of accounts. */
export interface IdentityApi {
  /** Token of a link that signs the first admin in, as long as nobody ever has; call it outside of transactions. */
  firstLink(): string | undefined
}
