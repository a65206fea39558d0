import type { SchemaWithComponents } from '@plant-shop/contracts/answers';
import type { JsonSchema } from '@plant-shop/contracts/schema';
import type { Operation } from '@plant-shop/platform/rpc/operation';

/** What the document says of an operation that its route, its rule and the contract do not. */
export interface OperationDocs {
  readonly tag: 'Plants' | 'Store' | 'Users' | 'OAuth' | 'Webhooks' | 'Shop';
  readonly summary: string;
  readonly description?: string;
  /** What it asks of the services. Parameters, body and examples are those of the first. */
  readonly calls?: readonly Operation<object, unknown>[];
  /** Parameters of the query, as members of the first call's payload. */
  readonly query?: readonly string[];
  readonly answer: AnswerDocs;
}

export type AnswerDocs =
  /** What the first call answers, passed on. */
  | { readonly kind: 'forwarded'; readonly schema: WrittenSchema }
  /** The specification's ApiResponse with a message like this one. */
  | { readonly kind: 'apiResponse'; readonly message: string; readonly headers?: Readonly<Record<string, JsonSchema>> }
  | { readonly kind: 'json'; readonly schema: JsonSchema; readonly example?: unknown; readonly alsoStatus?: 503; readonly hasEtag?: true }
  /** One object a line. */
  | { readonly kind: 'lines'; readonly description: string; readonly example: readonly object[] }
  | { readonly kind: 'image' };

export const forwarded = (schema: WrittenSchema): AnswerDocs => ({ kind: 'forwarded', schema });

export const apiResponse = (message: string, headers?: Readonly<Record<string, JsonSchema>>): AnswerDocs => ({
  kind: 'apiResponse',
  message,
  ...(headers && { headers }),
});
