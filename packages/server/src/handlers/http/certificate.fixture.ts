/** A self-signed certificate for localhost, hooks.example and 127.0.0.1, valid for a hundred years, for tests. */
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBqjCCAVCgAwIBAgIUK4nSe5x4fIaAw4MbEELbQKk8WYMwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTA2NDYyMVoYDzIxMjYxMDI4
MDY0NjIxWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAT9ADMmJzGzcxjw0ZQOcZBHevE7j/1+J9jdfMEIFie3HrGonb7Q2cm5
xpdrmP1VfE1pnN+yzKhqftDEsrVd3Nolo34wfDAdBgNVHQ4EFgQUw1l0MzEf1CWX
C+XFzYlUfpY1hSgwHwYDVR0jBBgwFoAUw1l0MzEf1CWXC+XFzYlUfpY1hSgwDwYD
VR0TAQH/BAUwAwEB/zApBgNVHREEIjAggglsb2NhbGhvc3SCDWhvb2tzLmV4YW1w
bGWHBH8AAAEwCgYIKoZIzj0EAwIDSAAwRQIgGkdqGakuw/n/E9BQcnEyqdVDqR7U
d5NAENGwq5nRPn8CIQCAX01EhcyRN96/+bXTVmbENN3QX8eaJvvRbXyWf5f5Qg==
-----END CERTIFICATE-----
`;

/** Private key of the certificate; it protects nothing. */
export const PRIVATE_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg5NVVigzEs9TuVRjg
VpPYuujpXx+9v2w2+UiJY4+JnhahRANCAAT9ADMmJzGzcxjw0ZQOcZBHevE7j/1+
J9jdfMEIFie3HrGonb7Q2cm5xpdrmP1VfE1pnN+yzKhqftDEsrVd3Nol
-----END PRIVATE KEY-----
`;
