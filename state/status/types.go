package status

// Lease is the answer of Akash's gateway to GET /lease/DSEQ/GSEQ/OSEQ/status (provider: gateway/rest/router.go).
type Lease struct {
	// Services are the Deployments and StatefulSets by name.
	Services map[string]*Service `json:"services"`
	// ForwardedPorts are the node ports by service. It is nil if the lease asks for none, and empty if it has none yet.
	ForwardedPorts map[string][]ForwardedPort `json:"forwarded_ports"`
	// IPs are the ports on leased addresses by service. It is nil if the lease asks for none, and empty if none is
	// granted yet.
	IPs map[string][]LeasedIP `json:"ips"`
}

// Service is the status of a service (provider: cluster/types/v1beta3, ServiceStatus). All numbers count replicas.
type Service struct {
	Name string `json:"name"`
	// Available is the number of replicas that have been ready for minReadySeconds.
	Available int32 `json:"available"`
	Total     int32 `json:"total"`
	// URIs are host names. It is nil if the service has none.
	URIs []string `json:"uris"`

	ObservedGeneration int64 `json:"observed_generation"`
	Replicas           int32 `json:"replicas"`
	UpdatedReplicas    int32 `json:"updated_replicas"`
	ReadyReplicas      int32 `json:"ready_replicas"`
	AvailableReplicas  int32 `json:"available_replicas"`
}

// ForwardedPort is a container port that is reached through the provider's nodes.
type ForwardedPort struct {
	// Host is the provider's public host name, if it has one.
	Host string `json:"host,omitempty"`
	// Port is the container port, ExternalPort the node port.
	Port         uint16 `json:"port"`
	ExternalPort uint16 `json:"externalPort"`
	// Proto is TCP or UDP.
	Proto string `json:"proto"`
	// Name is the name of the service.
	Name string `json:"name"`
}

// LeasedIP is a port on a leased address. Upstream's type gives its fields no JSON names.
type LeasedIP struct {
	// Port is the container port, ExternalPort the port on the address.
	Port         uint32
	ExternalPort uint32
	Protocol     string
	IP           string
}
