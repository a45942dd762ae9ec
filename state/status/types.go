package status

// Lease is what Akash's gateway answers to GET /lease/DSEQ/GSEQ/OSEQ/status (provider: gateway/rest/router.go).
type Lease struct {
	// Services are those of the Deployments and StatefulSets, by name.
	Services map[string]*Service `json:"services"`
	// ForwardedPorts are the ports on the nodes, by service: nil where the lease asks for none, empty where it asks
	// and has none.
	ForwardedPorts map[string][]ForwardedPort `json:"forwarded_ports"`
	// IPs are the ports on leased addresses, by service: nil where the lease asks for none, empty where none is
	// granted yet.
	IPs map[string][]LeasedIP `json:"ips"`
}

// Service is the state of a service (provider: cluster/types/v1beta3, ServiceStatus). All numbers count replicas.
type Service struct {
	Name string `json:"name"`
	// Available is how many replicas have been ready for long enough.
	Available int32 `json:"available"`
	Total     int32 `json:"total"`
	// URIs are host names; nil where the service has none.
	URIs []string `json:"uris"`

	ObservedGeneration int64 `json:"observed_generation"`
	Replicas           int32 `json:"replicas"`
	UpdatedReplicas    int32 `json:"updated_replicas"`
	ReadyReplicas      int32 `json:"ready_replicas"`
	AvailableReplicas  int32 `json:"available_replicas"`
}

// ForwardedPort is a port of the containers that is reached on the provider's nodes.
type ForwardedPort struct {
	// Host is the provider's public name; empty where it has none.
	Host string `json:"host,omitempty"`
	// Port is the containers' port, ExternalPort that of the nodes.
	Port         uint16 `json:"port"`
	ExternalPort uint16 `json:"externalPort"`
	// Proto is TCP or UDP.
	Proto string `json:"proto"`
	// Name is the service's.
	Name string `json:"name"`
}

// LeasedIP is a port that is reached at a leased address. Upstream's type gives its fields no names in JSON.
type LeasedIP struct {
	// Port is the containers' port, ExternalPort that of the address.
	Port         uint32
	ExternalPort uint32
	Protocol     string
	IP           string
}
