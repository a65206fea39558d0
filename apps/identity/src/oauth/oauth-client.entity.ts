import type { GrantType } from '@plant-shop/contracts/identity.oauth';
import type { Permission } from '@plant-shop/contracts/permissions';
import { Column, CreateDateColumn, Entity, PrimaryColumn, VirtualColumn } from 'typeorm';

@Entity('oauth_clients')
export class OAuthClientEntity {
  @PrimaryColumn('text') readonly clientId: string;
  @Column('text') readonly name: string;
  @Column('text', { array: true }) readonly redirectUris: readonly string[];
  @Column('text', { array: true }) readonly grantTypes: readonly GrantType[];
  @Column('text', { array: true }) readonly scopes: readonly Permission[];
  /** The user that client-credentials tokens act for. */
  @Column('uuid', { name: 'user_id', nullable: true }) readonly ownerId: string | null;
  @VirtualColumn('text', { query: (client) => `SELECT username FROM users WHERE user_id = ${client}.user_id` })
  readonly ownerName: string | null;
  /** Null for a public client. */
  @Column('uuid', { nullable: true }) readonly secretId: string | null;
  @Column('text', { nullable: true }) readonly secretHash: string | null;
  @CreateDateColumn({ type: 'timestamptz' }) readonly createdAt: Date;
}
