// Reads JSON strings of YAML, and writes what Kubernetes' parser makes of each: {"json": …} or {"error": "…"}, one a line.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in := json.NewDecoder(bufio.NewReader(os.Stdin)); in.More(); {
		var text string
		if err := in.Decode(&text); err != nil {
			panic(err)
		}
		read := map[string]any{}
		if value, err := yaml.YAMLToJSON([]byte(text)); err != nil {
			read["error"] = err.Error()
		} else {
			read["json"] = json.RawMessage(value)
		}
		line, err := json.Marshal(read)
		if err != nil {
			panic(err)
		}
		out.Write(append(line, '\n'))
	}
}
