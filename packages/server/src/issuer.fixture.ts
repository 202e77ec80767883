import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import Provider from "oidc-provider";

/** Claims and rights of the tokens that a client gets. */
export interface TokenOrder {
  scope?: string;
  audience?: string;
  /** Life of the token, in seconds; default 300. */
  lifeSec?: number;
  claims?: Record<string, unknown>;
}

const SECRET = "the-secret-of-the-client-of-tests";

/** An OpenID provider on loopback, whose only client gets the tokens that it asks for. */
export class TestIssuer {
  readonly url: string;
  readonly #server: Server;
  #keys: JWK[] = [];
  #order: TokenOrder = {};
  #answer: ReturnType<Provider["callback"]> = () => Promise.resolve();
  /** Whether the issuer answers 503 to everything. */
  isAway = false;
  /** Requests for its keys. */
  asked = 0;

  static async start(): Promise<TestIssuer> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const issuer = new TestIssuer(server);
    await issuer.rotate("key-1");
    return issuer;
  }

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("request", (request, response) => {
      if (request.url === "/jwks") this.asked++;
      if (this.isAway) response.writeHead(503).end();
      else void this.#answer(request, response);
    });
  }

  /** Signs by a new key from now on. @param keep number of former keys that it still publishes */
  async rotate(kid: string, keep = 1): Promise<void> {
    const { privateKey } = await generateKeyPair("ES256", { extractable: true });
    const key = { ...(await exportJWK(privateKey)), kid, alg: "ES256", use: "sig" };
    this.#keys = [key, ...this.#keys.slice(0, keep)];
    this.#answer = this.#provider().callback();
  }

  /** Public keys, as it publishes them. */
  async published(): Promise<JWK[]> {
    const { keys } = (await (await fetch(`${this.url}/jwks`)).json()) as { keys: JWK[] };
    return keys;
  }

  /** Gets a token by client credentials. */
  async token(order: TokenOrder = {}): Promise<string> {
    this.#order = order;
    const answer = await fetch(`${this.url}/token`, {
      method: "POST",
      headers: { authorization: `Basic ${Buffer.from(`shop:${SECRET}`).toString("base64")}` },
      body: new URLSearchParams({
        grant_type: "client_credentials",
        resource: "urn:mainspring",
        scope: order.scope ?? "mainspring:client",
      }),
    });
    const { access_token: token, ...rest } = (await answer.json()) as { access_token?: string };
    if (typeof token !== "string") throw new Error(`the issuer gave no token: ${JSON.stringify(rest)}`);
    return token;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  #provider(): Provider {
    return new Provider(this.url, {
      clients: [
        {
          ...{ client_id: "shop", client_secret: SECRET, grant_types: ["client_credentials"] },
          ...{ redirect_uris: [], response_types: [], id_token_signed_response_alg: "ES256" },
        },
      ],
      jwks: { keys: this.#keys as never },
      cookies: { keys: ["of no use without a browser"] },
      extraTokenClaims: () => this.#order.claims,
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: () => ({
            ...{ scope: this.#order.scope ?? "mainspring:client", audience: this.#order.audience ?? "mainspring" },
            ...{ accessTokenTTL: this.#order.lifeSec ?? 300, accessTokenFormat: "jwt" },
            jwt: { sign: { alg: "ES256" } },
          }),
        },
      },
    });
  }
}
