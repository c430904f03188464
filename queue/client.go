package queue

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"aiflow/internal/fault"
)

// LocalEndpoint is where DynamoDB Local answers.
const LocalEndpoint = "http://localhost:8000"

// Where says which DynamoDB is meant. Without a region it is a local one, with
// local credentials; with a region the ordinary AWS chain applies.
type Where struct {
	Endpoint string
	Region   string
}

// Dial makes the client; it sends nothing.
func Dial(ctx context.Context, w Where) (API, error) {
	if w.Region == "" {
		return dynamodb.New(dynamodb.Options{
			Region:       "local",
			BaseEndpoint: aws.String(cmp.Or(w.Endpoint, LocalEndpoint)),
			Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
		}, ours), nil
	}
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(w.Region))
	if err != nil {
		return nil, fault.Wrap(err, fault.QueueNotAvailable, "value", w.Region)
	}
	return dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		ours(o)
		if w.Endpoint != "" {
			o.BaseEndpoint = aws.String(w.Endpoint)
		}
	}), nil
}

// ours leaves retrying to the store, which knows what a lost answer means.
func ours(o *dynamodb.Options) {
	o.Retryer = aws.NopRetryer{}
	o.HTTPClient = &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 3 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       60 * time.Second,
		TLSHandshakeTimeout:   5 * time.Second,
		ExpectContinueTimeout: time.Second,
		ForceAttemptHTTP2:     true,
	}}
}
