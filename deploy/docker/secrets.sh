#!/bin/sh
# Makes the secrets of compose.yaml in deploy/docker/secrets, each once: a second run changes nothing.
set -eu
folder=$(dirname "$0")/secrets
# Others of this machine cannot reach the files; the containers, to which Docker mounts each, can read them as another user.
mkdir -p "$folder"
chmod 700 "$folder"

make() {
  [ -e "$folder/$1" ] || printf %s "$2" >"$folder/$1"
}
random() {
  head -c 24 /dev/urandom | base64 | tr '+/' '-_'
}

make api-key "$(random)"
make cluster-secret "$(random)"
make postgres-password "$(random)"
make grafana-password "$(random)"
make store "postgres://mainspring:$(cat "$folder/postgres-password")@postgres:5432/mainspring"
# For the profiles a and b.
make redis-password "$(random)"
make redis-store "redis://:$(cat "$folder/redis-password")@redis-store:6379?prefix=mainspring_a"
make redis-store-config "requirepass $(cat "$folder/redis-password")
masterauth $(cat "$folder/redis-password")
appendonly yes
appendfsync always
maxmemory 1gb
maxmemory-policy noeviction
save \"\"
"
make redis "redis://:$(cat "$folder/redis-password")@redis:6379?prefix=mainspring_b"
make redis-config "requirepass $(cat "$folder/redis-password")
save \"\"
"
make clickhouse-password "$(random)"
make clickhouse "http://mainspring:$(cat "$folder/clickhouse-password")@clickhouse:8123/mainspring"
make clickhouse-user.xml "<clickhouse><users><mainspring>
  <password>$(cat "$folder/clickhouse-password")</password>
  <networks><ip>::/0</ip></networks>
  <profile>default</profile>
  <quota>default</quota>
</mainspring></users></clickhouse>"
echo "The secrets are in $folder. The API key is in $folder/api-key."
