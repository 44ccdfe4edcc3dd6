#!/bin/sh
# Translates with TensorFlow Serving over HTTP: ./translate.sh HOST[:PORT] MODEL_NAME
set -eu

if [ $# -ne 2 ]; then
    echo "usage: translate.sh HOST[:PORT] MODEL_NAME" >&2
    exit 2
fi
case $1 in
*:[0-9]*) address=$1 ;;
*) address=$1:8501 ;;
esac
url=http://$address/v1/models/$2:predict

predict() {
    curl --silent --show-error --fail-with-body --max-time 60 --data "$1" "$url" || {
        echo >&2
        echo "translate.sh: $url gave no translation."\
            "Are the address and the model's name right?" >&2
        exit 1
    }
    echo
}

echo "# By row: an object for each sentence."
predict '{"instances": ["The dog sleeps.", "When does the train arrive?"]}'

echo "# By column: a list for each output."
predict '{"inputs": {"text": ["The dog sleeps.", "When does the train arrive?"]}}'

echo "# Options for each sentence: another signature."
predict '{
  "signature_name": "translate",
  "instances": [
    {"text": "The dog sleeps.", "max_length": 20, "length_penalty": 0.6},
    {"text": "The dog sleeps.", "max_length": 3, "length_penalty": 0.0}
  ]
}'
