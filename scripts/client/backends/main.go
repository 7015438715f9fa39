// A backend that asks Steward what users may do. Its service account holds check:access and read:events.
// STEWARD_URL=https://steward.example STEWARD_SECRET=sk_… PORT=8080 go run main.go
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

type check struct {
	UserID     string `json:"userId"`
	TenantID   string `json:"tenantId"`
	Permission string `json:"permission"`
}

type answer struct {
	Results []struct{ Allowed bool }
	Items   []struct{ Data struct{ UserID string } }
	Next    string
}

var client = http.Client{Timeout: 2 * time.Second}

func steward(method, path string, body any) (answer answer, err error) {
	content, _ := json.Marshal(body)
	request, _ := http.NewRequest(method, os.Getenv("STEWARD_URL")+"/api/v1"+path, bytes.NewReader(content))
	request.Header.Set("Authorization", "Bearer "+os.Getenv("STEWARD_SECRET"))
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return answer, fmt.Errorf("%s: %s", path, response.Status)
	}
	return answer, json.NewDecoder(response.Body).Decode(&answer)
}

// The answers that hold until an event says that the user's rights changed.
var answers sync.Map

func may(userID, tenantID, permission string) (bool, error) {
	known, _ := answers.LoadOrStore(userID, &sync.Map{})
	if allowed, found := known.(*sync.Map).Load(tenantID + permission); found {
		return allowed.(bool), nil
	}
	answer, err := steward("POST", "/access/check", map[string][]check{"checks": {{userID, tenantID, permission}}})
	if err == nil { // unused if the map was dropped meanwhile
		known.(*sync.Map).Store(tenantID+permission, answer.Results[0].Allowed)
	}
	return err == nil && answer.Results[0].Allowed, err
}

func follow(after string) (string, error) {
	page, err := steward("GET", "/events?types=user.access-changed&waitSeconds=1&after="+after, nil)
	for _, event := range page.Items {
		answers.Delete(event.Data.UserID)
	}
	return page.Next, err
}

// End of the part that a backend needs.

func forget() {
	answers.Range(func(userID, _ any) bool { answers.Delete(userID); return true })
}

func followAlways(after string) {
	for {
		next, err := follow(after)
		if err == nil {
			after = next
			continue
		}
		log.Print(err)
		forget() // without events, no answer is kept
		time.Sleep(time.Second / 2)
	}
}

func main() {
	start, err := steward("GET", "/events?types=none", nil)
	if err != nil {
		log.Fatal(err)
	}
	go followAlways(start.Next)
	go func() {
		for range time.Tick(time.Hour) {
			forget() // the answers about users who do not come back
		}
	}()
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		asked := r.URL.Query()
		allowed, err := may(asked.Get("user"), asked.Get("tenant"), asked.Get("permission"))
		switch {
		case err != nil:
			log.Print(err)
			w.WriteHeader(http.StatusServiceUnavailable)
		case !allowed:
			http.Error(w, "Refused.", http.StatusForbidden)
		default:
			fmt.Fprintln(w, "Approved.")
		}
	})
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on %d\n", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, nil))
}
