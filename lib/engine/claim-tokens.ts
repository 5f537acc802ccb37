/** Which claim led to which token, while its attempt runs: a repeated claim is answered as it was. */
export class ClaimTokens {
  private readonly claims = new Map<string, string>();
  private readonly tokens = new Map<string, string>();

  set(claim: string, token: string): void {
    this.claims.set(token, claim);
    this.tokens.set(claim, token);
  }

  claimOf(token: string): string | undefined {
    return this.claims.get(token);
  }

  tokenOf(claim: string): string | undefined {
    return this.tokens.get(claim);
  }

  forget(token: string): void {
    const claim = this.claims.get(token);
    if (claim === undefined) return;
    this.claims.delete(token);
    this.tokens.delete(claim);
  }
}
