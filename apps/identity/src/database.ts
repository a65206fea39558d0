import type { MetadataPairs } from '@plant-shop/contracts/fields';
import type { GrantType } from '@plant-shop/contracts/identity.oauth';
import type { Permission, Role } from '@plant-shop/contracts/permissions';
import type { DatabaseConfig } from '@plant-shop/platform/postgres/address';
import type { DatabaseSettings } from '@plant-shop/platform/postgres/database';
import { Column, CreateDateColumn, Entity, PrimaryColumn, VirtualColumn } from 'typeorm';

@Entity('oauth_clients')
export class OAuthClientEntity {
  @PrimaryColumn('text') readonly clientId: string;
  @Column('text') readonly name: string;
  @Column('text', { array: true }) readonly redirectUris: readonly string[];
  @Column('text', { array: true }) readonly postLogoutRedirectUris: readonly string[];
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
  /** Sort key of lists. */
  @Column('bigint') readonly position: number;
}

@Entity('users')
export class UserEntity {
  @PrimaryColumn('uuid') readonly userId: string;
  @Column('bigint') readonly id: number;
  @Column('text') readonly username: string;
  @Column('text', { nullable: true }) readonly firstName: string | null;
  @Column('text', { nullable: true }) readonly lastName: string | null;
  @Column('text', { nullable: true }) readonly email: string | null;
  /** Null: unverified. A trigger ends the verification of an address that changes. */
  @Column('timestamptz', { nullable: true }) readonly emailVerifiedAt: Date | null;
  @Column('text', { nullable: true }) readonly phone: string | null;
  @Column('boolean') readonly orderMails: boolean;
  @Column('integer', { nullable: true }) readonly userStatus: number | null;
  @Column('text', { nullable: true }) readonly externalId: string | null;
  @Column('jsonb', { nullable: true }) readonly metadata: MetadataPairs | null;
  @Column('timestamptz') readonly updatedAt: Date;
  /** Not selected with the others: only a login needs it. */
  @Column({ type: 'text', select: false }) readonly passwordHash: string;
  @Column('text') readonly role: Role;
  /** Drawn from one sequence for all users: none comes back, also not for a name that is registered again. */
  @Column('bigint') readonly version: number;
}

export const migrationsFolder = new URL('../migrations/', import.meta.url);

export const identityDatabase = ({ databaseUrl, databaseCa, sandbox }: DatabaseConfig, poolSize: number): DatabaseSettings => ({
  url: databaseUrl,
  ca: databaseCa,
  sandbox,
  applicationName: 'identity',
  poolSize,
  migrations: migrationsFolder,
  entities: [OAuthClientEntity, UserEntity],
});
