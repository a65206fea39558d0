import type { Role } from '@plant-shop/contracts/permissions';
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('users')
export class UserEntity {
  @PrimaryColumn('uuid') readonly userId: string;
  @Column('bigint') readonly id: number;
  @Column('text') readonly username: string;
  @Column('text', { nullable: true }) readonly firstName: string | null;
  @Column('text', { nullable: true }) readonly lastName: string | null;
  @Column('text', { nullable: true }) readonly email: string | null;
  @Column('text', { nullable: true }) readonly phone: string | null;
  @Column('integer', { nullable: true }) readonly userStatus: number | null;
  /** Not selected with the others: only a login needs it. */
  @Column({ type: 'text', select: false }) readonly passwordHash: string;
  @Column('text') readonly role: Role;
  /** Drawn from one sequence for all users: none comes back, also not for a name that is registered again. */
  @Column('bigint') readonly version: number;
}
