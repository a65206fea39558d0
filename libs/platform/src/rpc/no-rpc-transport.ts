import { type CustomTransportStrategy, Server } from '@nestjs/microservices';

/** The transport of an app that handles no RPC calls. */
export class NoRpcTransport extends Server implements CustomTransportStrategy {
  listen(callback: () => void): void {
    callback();
  }

  close(): void {
    // Nothing was opened.
  }

  on(): never {
    throw new Error('NoRpcTransport has no events');
  }

  unwrap(): never {
    throw new Error('NoRpcTransport has no connection');
  }
}
