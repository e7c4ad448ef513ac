package tables

import "testing"

func TestServersAreJudgedByTheirVersion(t *testing.T) {
	t.Parallel()
	for version, usable := range map[string]bool{
		"PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14+deb12u1) 12.2.0, 64-bit": true,
		"PostgreSQL 18.4 on x86_64-pc-linux-gnu, compiled by gcc (GCC) 8.5.0, 64-bit":                                                 true,
		"PostgreSQL 19beta1 on aarch64-apple-darwin, compiled by clang, 64-bit":                                                       true,
		"PostgreSQL 20devel on x86_64-pc-linux-musl":                                                                                  true,
		"PostgreSQL 16.3 - Percona Distribution on x86_64-pc-linux-gnu, compiled by gcc, 64-bit":                                      true,
		"PostgreSQL 17.2 (EnterpriseDB Advanced Server 17.2.0) on x86_64-pc-linux-gnu":                                                true,
		"PostgreSQL 15.1-1.1C on x86_64-pc-linux-gnu":                                                                                 true, // a vendor's number

		"PostgreSQL 14.19 on x86_64-pc-linux-gnu, compiled by gcc, 64-bit":  false,
		"PostgreSQL 9.6.24 on x86_64-pc-linux-gnu, compiled by gcc, 64-bit": false,
		"PostgreSQL 1.09 on sparc": false,
		"CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024/05/15 21:28:29, go1.22.2)":                                        false,
		"PostgreSQL 15.12-YB-2025.1.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 19.1.0, 64-bit":                        false,
		"PostgreSQL 13.14.0-RisingWave-2.0.0 (0d15632ac8d18fbd323982b53bc2d508dc7e148a)":                                            false,
		"PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2 20041017 (Red Hat 3.4.2-6.fc3), Redshift 1.0.12103": false,
		"CrateDB 5.9.4 (built 1234567/NA, Linux 6.1.0 amd64, OpenJDK 64-Bit Server VM 22)":                                          false,
		"an imitation of PostgreSQL 16.1": false,
		"PostgreSQL":                      false,
		"":                                false,
	} {
		if got := supportedServer.MatchString(version); got != usable {
			t.Errorf("%q is usable: %v, want %v", version, got, usable)
		}
	}
}
